"""Serves one discipline in a process: ``python serve.py module:factory [JSON [FLAVOUR]]``.

Prints its port, and ends when its standard input does. Run as a file, not as a module, so that the
installed packages are imported and not the checkout's. With ``PHILOTE_FAST=0`` philote_fast is
never imported: that server is philote-mdo exactly as it comes.
"""

import importlib
import json
import os
import sys
from concurrent import futures


def main(specification, arguments="{}", flavour="patched"):
    if os.environ.get("PHILOTE_FAST") != "0":
        import philote_fast

        if not philote_fast.installed():
            raise SystemExit(f"nothing is patched:\n{philote_fast.status()}")

    import grpc
    import philote_mdo.general as pmdo

    module, name = specification.split(":")
    discipline = getattr(importlib.import_module(module), name)(**json.loads(arguments))
    implicit = isinstance(discipline, pmdo.ImplicitDiscipline)
    servicer = (pmdo.ImplicitServer if implicit else pmdo.ExplicitServer)(discipline=discipline)

    make = philote_fast.server if flavour == "native" else grpc.server
    server = make(futures.ThreadPoolExecutor(max_workers=4))
    servicer.attach_to_server(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.buffer.read()
    server.stop(None).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
