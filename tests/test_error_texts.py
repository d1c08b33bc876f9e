"""Error texts of any length and kind reach the client with their code."""

from unittest import mock

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from philote_mdo.general import (
    ExplicitServer,
)
from philote_mdo.generated import data_pb2 as data
from philote_mdo.generated import disciplines_pb2_grpc as disc
from philote_mdo.utils.validation import PhiloteValidationError

import philote_fast
from philote_fast.patches.context import MESSAGE_LIMIT, SafeContext, cut

from .servicers import (
    PATIENCE,
    Explicit,
    compute,
    error_of,
    serving,
    setup,
)


@pytest.fixture(autouse=True)
def installed():
    philote_fast.install()
    yield
    philote_fast.install()


# Long error texts


def check_text(got, sent):
    """Check that a text arrived, whole if short, else with its head and its tail."""
    if got == sent:
        return
    head, _, rest = got.partition(" ... [")
    count, _, tail = rest.partition(" characters cut] ... ")
    assert sent.startswith(head)
    assert sent.endswith(tail)
    assert len(head) + int(count) + len(tail) == len(sent)
    assert len(head) > len(tail) > 50


TEXTS = {
    "short": "bad input",
    "controls": "line\nnext\ttab\r 100% %41 \x01\x7f",
    "unicode": "größer ± 名前 🦀",
    "6 KiB": "a" * 6000,
    "9 KiB": "".join(f"{i:07} " for i in range(1152)),
    "100 KiB": "".join(f"{i:07} " for i in range(12800)),
    "9 KiB of é": "é" * 4608,
    "9 KiB of crabs": "🦀" * 2304,
    "4 KiB of %": "%" * 4096,
    "mixed": "x%é名🦀\n" * 3000,
}


@pytest.mark.parametrize("sent", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize(
    ("fault", "code", "prefix"),
    [
        (ValueError, grpc.StatusCode.INTERNAL, "ComputeFunction failed: "),
        ("validation", grpc.StatusCode.INVALID_ARGUMENT, ""),
        (SystemExit, grpc.StatusCode.INTERNAL, "ComputeFunction failed: SystemExit: "),
    ],
)
def test_an_error_text_arrives(sent, fault, code, prefix):
    kind = PhiloteValidationError if fault == "validation" else fault
    with serving(ExplicitServer(Explicit(kind(sent)))) as channel:
        setup(channel)
        # A client may refuse headers between its soft and its hard limit at random.
        for _ in range(5):
            got_code, got = error_of(compute, channel)
            assert got_code is code
            check_text(got, prefix + sent)


def test_stock_loses_the_code_of_a_long_text():
    philote_fast.uninstall()
    with serving(ExplicitServer(Explicit(ValueError("a" * 100_000)))) as channel:
        setup(channel)
        code, details = error_of(compute, channel)
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "aaa" not in details


class Escaping(ExplicitServer):
    """Errors that leave the handler as they are."""

    text = ""
    metadata = ()

    def GetVariableDefinitions(self, request, context):  # noqa: N802
        yield data.VariableMetaData(name="x")
        raise ValueError(self.text)

    def GetAvailableOptions(self, request, context):  # noqa: N802
        context.set_trailing_metadata(self.metadata)
        raise ValueError(self.text)

    def SetStreamOptions(self, request, context):  # noqa: N802
        context.set_code(grpc.StatusCode.NOT_FOUND)
        context.set_details(self.text)
        return Empty()

    def SetOptions(self, request, context):  # noqa: N802
        status = mock.Mock(grpc.Status)
        status.code, status.details = grpc.StatusCode.ABORTED, self.text
        status.trailing_metadata = self.metadata
        context.abort_with_status(status)


@pytest.mark.parametrize("sent", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize(
    "metadata", [(), (("k", "v" * 1000),), (("k-bin", b"v" * 3000),)], ids=["none", "1k", "3k"]
)
def test_texts_that_escape_or_are_set(sent, metadata):
    server = Escaping(Explicit())
    server.text, server.metadata = sent, metadata
    escaped = "Exception calling application: " + sent
    with serving(server) as channel:
        stub = disc.DisciplineServiceStub(channel)
        code, got = error_of(lambda: list(stub.GetVariableDefinitions(Empty(), timeout=PATIENCE)))
        assert code is grpc.StatusCode.UNKNOWN
        check_text(got, "Exception iterating responses: " + sent)
        for _ in range(5):
            code, got = error_of(stub.GetAvailableOptions, Empty(), timeout=PATIENCE)
            assert code is grpc.StatusCode.UNKNOWN
            check_text(got, escaped)
        code, got = error_of(stub.SetStreamOptions, data.StreamOptions(), timeout=PATIENCE)
        assert code is grpc.StatusCode.NOT_FOUND
        check_text(got, sent)
        code, got = error_of(stub.SetOptions, data.DisciplineOptions(), timeout=PATIENCE)
        assert code is grpc.StatusCode.ABORTED
        check_text(got, sent)


def test_cut():
    assert cut("short") == "short"
    assert cut("a" * MESSAGE_LIMIT) == "a" * MESSAGE_LIMIT
    for text in TEXTS.values():
        for limit in (64, 512, 700, MESSAGE_LIMIT):
            assert encoded(cut(text, limit)) <= limit
    assert cut("a" * 100 + "b" * 100, 90).startswith("aaaa")
    assert cut("\ud800" * 9000).startswith("\ud800")


def encoded(text):
    plain = sum(0x20 <= b <= 0x7E and b != 0x25 for b in text.encode("utf-8", "surrogatepass"))
    return 3 * len(text.encode("utf-8", "surrogatepass")) - 2 * plain


# The context


def test_a_safe_context_is_the_real_one_otherwise():
    real = mock.create_autospec(grpc.ServicerContext, instance=True)
    real.extra = "extra"
    safe = SafeContext(real)
    assert isinstance(safe, grpc.ServicerContext)
    assert safe.extra == "extra"
    safe.user = "me"
    assert real.user == "me"
    with pytest.raises(AttributeError):
        _ = safe.unknown
    for name in (
        "is_active", "time_remaining", "cancel", "invocation_metadata", "peer", "peer_identities",
        "peer_identity_key", "auth_context", "trailing_metadata", "code", "details",
        "disable_next_message_compression",
    ):  # fmt: skip
        assert getattr(safe, name)() is getattr(real, name).return_value
    for name in (
        "add_callback", "set_compression", "send_initial_metadata", "set_trailing_metadata",
        "set_code", "set_details",
    ):  # fmt: skip
        getattr(safe, name)(name)
        getattr(real, name).assert_called_once_with(name)
    real.trailing_metadata.return_value = None
    safe.abort(grpc.StatusCode.ABORTED, b"bytes")
    real.abort.assert_called_once_with(grpc.StatusCode.ABORTED, b"bytes")
    status = mock.Mock(details="short", trailing_metadata=None)
    safe.abort_with_status(status)
    real.abort_with_status.assert_called_once_with(status)


def test_a_context_that_knows_no_details():
    class Bare(SafeContext):
        details = trailing_metadata = grpc.ServicerContext.details

    given = []
    real = mock.Mock(set_details=given.append)
    SafeContext(Bare(real)).explain("a" * 9000)
    assert len(given) == 1
