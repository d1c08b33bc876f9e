"""A server and a client in this process, over a real socket."""

import contextlib
from concurrent import futures

import philote_mdo.general as pmdo

from . import peers


@contextlib.contextmanager
def served(servicer, *, interceptors=(), workers=4):
    """Serve a DisciplineServer on 127.0.0.1; gives its address."""
    with _running(servicer.attach_to_server, interceptors, workers) as address:
        yield address


@contextlib.contextmanager
def generic_server(handler):
    """Serve any generic handler on 127.0.0.1; gives its address."""
    with _running(lambda server: server.add_generic_rpc_handlers((handler,)), (), 4) as address:
        yield address


@contextlib.contextmanager
def _running(attach, interceptors, workers):
    pool = futures.ThreadPoolExecutor(max_workers=workers)
    server = peers.server(pool, interceptors=interceptors)
    attach(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
        pool.shutdown()


@contextlib.contextmanager
def explicit(discipline, *, setup=True, server=pmdo.ExplicitServer, client=pmdo.ExplicitClient):
    """Serve an explicit discipline; gives a client of it, set up, and the server's object."""
    with _pair(server(discipline=discipline), client, setup) as both:
        yield both


@contextlib.contextmanager
def implicit(discipline, *, setup=True, server=pmdo.ImplicitServer, client=pmdo.ImplicitClient):
    """Serve an implicit discipline; gives a client of it, set up, and the server's object."""
    with _pair(server(discipline=discipline), client, setup) as both:
        yield both


@contextlib.contextmanager
def _pair(servicer, client, setup):
    with served(servicer) as address, peers.channel_to(address) as channel:
        one = client(channel)
        if setup:
            set_up(one)
        yield one, servicer


def set_up(client):
    """Run the setup and fetch all definitions, as OpenMDAO's components do."""
    client.run_setup()
    client.get_variable_definitions()
    client.get_partials_definitions()
