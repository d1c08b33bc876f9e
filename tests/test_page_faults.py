"""Results of megabytes that come and go are not faulted in anew at each call."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
from concurrent import futures

import numpy as np
from philote_mdo.general import ExplicitClient, ExplicitDiscipline, ExplicitServer

import philote_fast

SIZE = 250_000


class Echo(ExplicitDiscipline):
    def setup(self):
        self.add_input("x", shape=(SIZE,))
        self.add_output("y", shape=(SIZE,))

    def compute(self, inputs, outputs):
        outputs["y"] = inputs["x"]


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


server = philote_fast.server(futures.ThreadPoolExecutor(1))
ExplicitServer(Echo()).attach_to_server(server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
with philote_fast.insecure_channel(f"127.0.0.1:{port}") as channel:
    client = ExplicitClient(channel=channel)
    client.run_setup()
    client.get_variable_definitions()
    x = {"x": np.arange(float(SIZE))}
    kept, before = [], 0
    for call in range(40):
        if call == 20:
            before = faults()
        if len(kept) == 4:
            assert all((result == x["x"]).all() for result in kept)
            kept.clear()
        kept.append(client.run_compute(x)["y"])
    print(faults() - before)
server.stop(None).wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about one allocator")
def test_calls_of_megabytes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    # A result has 489 pages, which were faulted in at each of 20 calls before the allocator was
    # taught to keep them.
    assert int(done.stdout) < 489
