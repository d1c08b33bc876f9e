"""The four kinds of calls, in each way in which they can be made."""

import queue
import threading

import grpc
import pytest

from .implementations import PATIENCE
from .service import echo

OK = grpc.StatusCode.OK
SIZES = [0, 1, 16_383, 16_384, 100_000, 3_000_000]


def pieces(request, context):
    yield from request.split(b",")


def joined(requests, context):
    return b",".join(requests)


def echoes(requests, context):
    yield from requests


@pytest.mark.parametrize("size", SIZES)
def test_unary_unary(remote, size):
    request = bytes(range(256)) * (size // 256 + 1)
    assert remote.unary_unary(echo)(request[:size]) == request[:size]


def test_with_call(remote):
    response, call = remote.unary_unary(echo).with_call(b"a", timeout=PATIENCE)
    assert response == b"a"
    assert isinstance(call, grpc.Call)
    assert (call.code(), call.details()) == (OK, "")
    assert list(call.trailing_metadata()) == []
    assert not call.is_active()


def test_future(remote):
    future = remote.unary_unary(echo).future(b"a")
    assert isinstance(future, grpc.Future)
    assert isinstance(future, grpc.Call)
    assert future.result(timeout=PATIENCE) == b"a"
    assert future.result() == b"a"
    assert future.exception() is None
    assert future.traceback() is None
    assert (future.done(), future.running(), future.cancelled()) == (True, False, False)
    assert (future.code(), future.details()) == (OK, "")


def test_many_futures_at_once(remote):
    method = remote.unary_unary(echo)
    futures = [method.future(str(n).encode()) for n in range(200)]
    assert [each.result(PATIENCE) for each in futures] == [str(n).encode() for n in range(200)]


@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_unary_stream(remote, count):
    def numbers(request, context):
        for n in range(int(request)):
            yield str(n).encode()

    call = remote.unary_stream(numbers)(str(count).encode())
    assert isinstance(call, grpc.Call)
    assert list(call) == [str(n).encode() for n in range(count)]
    assert call.code() is OK
    with pytest.raises(StopIteration):
        next(call)


@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_stream_unary(remote, count):
    requests = [str(n).encode() for n in range(count)]
    method = remote.stream_unary(joined)
    expected = b",".join(requests)
    assert method(iter(requests)) == expected
    response, call = method.with_call(iter(requests))
    assert (response, call.code()) == (expected, OK)
    assert method.future(iter(requests)).result(PATIENCE) == expected


@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_stream_stream(remote, count):
    requests = [str(n).encode() for n in range(count)]
    assert list(remote.stream_stream(echoes)(iter(requests))) == requests


@pytest.mark.parametrize("size", SIZES)
def test_stream_stream_of_large_messages(remote, size):
    requests = [bytes([n]) * size for n in range(5)]
    assert list(remote.stream_stream(echoes)(iter(requests))) == requests


@pytest.mark.parametrize("make", [list, tuple, iter])
def test_requests_of_any_iterable(remote, make):
    """A generated stub passes on what it was given; gRPC asks for an iterator, and for no more."""
    assert remote.stream_unary(joined)(iter(make([b"a", b"b"]))) == b"a,b"


def test_a_conversation(remote):
    """A request depends on the answer to the one before: neither side holds anything back."""
    requests = queue.SimpleQueue()
    call = remote.stream_stream(echoes)(iter(requests.get, None), timeout=PATIENCE)
    for n in range(50):
        requests.put(str(n).encode())
        assert next(call) == str(n).encode()
    requests.put(None)
    assert list(call) == []
    assert call.code() is OK


def test_a_conversation_that_the_server_begins(remote):
    asked = threading.Event()

    def behaviour(requests, context):
        yield b"hello"
        yield next(requests)

    def requests():
        asked.wait(PATIENCE)
        yield b"you too"

    call = remote.stream_stream(behaviour)(requests())
    assert next(call) == b"hello"
    asked.set()
    assert list(call) == [b"you too"]


def test_answers_before_the_request_ends(remote):
    """A server may answer, and end, without reading what it is sent."""

    def behaviour(requests, context):
        return iter([b"enough"])

    more = threading.Event()

    def requests():
        yield b"a"
        more.wait(PATIENCE)

    call = remote.stream_stream(behaviour)(requests())
    assert list(call) == [b"enough"]
    assert call.code() is OK
    more.set()


def test_serializers_of_both_sides(remote):
    serialize, deserialize = (lambda n: str(n).encode()), (lambda data: int(data))
    method = remote.unary_unary(
        lambda request, context: request + 1,
        serve=(deserialize, serialize),
        call=(serialize, deserialize),
    )
    assert method(41) == 42


def test_an_unregistered_and_a_registered_method(remote):
    """Generated stubs call with ``_registered_method=True``."""
    path = remote.service.add("unary_unary", echo)
    assert remote.channel.unary_unary(path, _registered_method=True)(b"a") == b"a"
    assert remote.channel.unary_unary(path, None, None, False)(b"b") == b"b"
    path = remote.service.add("stream_stream", echoes)
    call = remote.channel.stream_stream(path, _registered_method=True)
    assert list(call(iter([b"a"]))) == [b"a"]


def test_a_stream_is_an_iterator(remote):
    call = remote.unary_stream(pieces)(b"a,b,c")
    assert iter(call) is call
    assert next(call) == b"a"
    assert list(call) == [b"b", b"c"]


def test_two_streams_in_turn(remote):
    """What waits in one stream does not hold the other up."""
    method = remote.unary_stream(lambda request, context: iter([request * 100_000] * 20))
    one, two = method(b"1"), method(b"2")
    for _ in range(20):
        assert next(one) == b"1" * 100_000
        assert next(two) == b"2" * 100_000
    assert (list(one), list(two)) == ([], [])


def test_sixteen_threads_on_one_channel(remote):
    unary, stream = remote.unary_unary(echo), remote.stream_stream(echoes)
    wrong = []

    def work(number):
        for n in range(40):
            request = f"{number}.{n}".encode() * (1 + 500 * (n % 5))
            if unary(request) != request or list(stream(iter([request] * 3))) != [request] * 3:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * PATIENCE)
        assert not thread.is_alive()
    assert wrong == []
