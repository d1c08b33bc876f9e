"""The errors of docs/troubleshooting.md, each provoked as its users meet it.

Here are those of processes and connections; ``provoked_calls`` has those of calls.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import traceback
from concurrent import futures
from pathlib import Path

import grpc
import philote_mdo.general as pmdo
import pytest

import philote_fast

from . import certificates

RUN = [sys.executable, "-m", "philote_fast"]

#: What provokes an error and gives its texts, by its heading in the document.
PROVOKED = {}


def provokes(heading):
    """Register a function that gives an error's text, or the texts of several."""

    def register(function):
        def texts():
            said = function()
            return [said] if isinstance(said, str) else said

        PROVOKED[heading] = texts
        return function

    return register


# How errors are told


def error_of(function, *arguments, **keywords):
    """What a traceback ends with."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the text is the point
        function(*arguments, **keywords)
    return "".join(traceback.format_exception_only(caught.value))


def details_of(call):
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.details()


def said_by(*command, path=None, status=1, **environment):
    """What a command prints on its two outputs."""
    environment = {**os.environ, **environment}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


# At the start


@provokes("The compiled part is missing")
def without_extension():
    source = Path(philote_fast.__file__).parent
    shutil.copytree(source, "philote_fast", ignore=shutil.ignore_patterns("_core.*.so", "*.pyd"))
    _, errors = said_by(sys.executable, "-c", "import philote_fast", path=Path.cwd())
    return errors.splitlines()[-1]


@provokes("philote-mdo is another version")
def another_version():
    metadata = Path("philote_mdo-0.9.0.dist-info/METADATA")
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: philote-mdo\nVersion: 0.9.0\n")
    code = "import philote_fast; assert not philote_fast.installed()"
    _, errors = said_by(sys.executable, "-c", code, path=Path.cwd(), status=0)
    return re.search("RuntimeWarning.*", errors)[0]


@provokes("Another tool has replaced a function")
def replaced_before():
    code = """
from philote_mdo.utils import helper
stock = helper.get_chunk_indices
helper.get_chunk_indices = lambda *arguments: stock(*arguments)
import philote_fast
"""
    _, errors = said_by(sys.executable, "-c", code, status=0)
    return re.search("RuntimeWarning.*", errors)[0]


@provokes("Nothing is patched")
def prevented():
    output, _ = said_by(*RUN, "status", status=0, PHILOTE_FAST="0")
    return output.splitlines()[0]


@provokes("Options of Python that leave no way in")
def isolated():
    _, errors = said_by(sys.executable, "-E", "-m", "philote_fast", "run", "wing.py")
    return errors


@provokes("The demo needs OpenMDAO")
def no_openmdao():
    code = (
        "import sys; sys.modules['openmdao'] = None\n"
        "from philote_fast.cli import main; sys.exit(main(['demo']))"
    )
    _, errors = said_by(sys.executable, "-c", code)
    return errors


# Connecting


def set_up_at(address):
    with philote_fast.insecure_channel(address) as channel:
        pmdo.ExplicitClient(channel).run_setup()


@provokes("Nobody listens")
def nobody_listens():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return details_of(lambda: set_up_at(f"127.0.0.1:{holder.getsockname()[1]}"))


@provokes("A name that is not known")
def unknown_name():
    return details_of(lambda: set_up_at("no-such-host.invalid:50051"))


def native_server(**arguments):
    return philote_fast.server(futures.ThreadPoolExecutor(1), **arguments)


@provokes("The port is taken")
def port_taken():
    with socket.create_server(("127.0.0.1", 0)) as holder:
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        return error_of(native_server().add_insecure_port, address)


@provokes("Server credentials of grpcio's making")
def credentials_of_grpcio():
    identity = certificates.issued(certificates.authority(), "server")
    made = grpc.ssl_server_credentials([(identity.key, identity.chain)])
    return error_of(native_server().add_secure_port, "127.0.0.1:0", made)


def handshake(name, trusted):
    """What a client that trusts the issuer, or another, says of a certificate for a name."""
    issuer = certificates.authority()
    identity = certificates.issued(issuer, "server", dns=[name])
    pair = (identity.key, identity.chain)
    server = native_server()
    port = server.add_secure_port("localhost:0", philote_fast.ssl_server_credentials([pair]))
    server.start()
    root = issuer if trusted else certificates.authority("another")
    credentials = grpc.ssl_channel_credentials(root.chain)
    with philote_fast.secure_channel(f"localhost:{port}", credentials) as channel:
        said = details_of(pmdo.ExplicitClient(channel).run_setup)
    server.stop(None).wait()
    return said


@provokes("A certificate for another name")
def another_name():
    return handshake("other.example", trusted=True)


@provokes("A certificate that is not trusted")
def not_trusted():
    return handshake("localhost", trusted=False)


@provokes("Options that are not honoured")
def options_not_honoured():
    code = """
import warnings
from concurrent import futures
import philote_fast
philote_fast.insecure_channel("127.0.0.1:1", options=[("grpc.service_config", "{}")])
philote_fast.server(futures.ThreadPoolExecutor(1), options=[("grpc.channelz", 1)])
"""
    # In a process of its own: each option is named only once.
    _, errors = said_by(sys.executable, "-c", code, status=0)
    return re.findall("RuntimeWarning.*", errors)
