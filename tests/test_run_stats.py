"""``philote-fast run --stats``: the counts of a script, at its end."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

CALLS = """
    import os, sys
    from concurrent import futures
    import grpc
    import numpy as np
    import philote_mdo.general as pmdo
    from tests.test_stats import Naps

    class Work:
        def __enter__(self):
            self.pool = futures.ThreadPoolExecutor(2)
            self.server = grpc.server(self.pool)
            pmdo.ExplicitServer(discipline=Naps()).attach_to_server(self.server)
            self.port = self.server.add_insecure_port("127.0.0.1:0")
            self.server.start()
            self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
            client = pmdo.ExplicitClient(channel=self.channel)
            client.run_setup()
            client.get_variable_definitions()
            self.client = client
            return self
        def call(self, times):
            for _ in range(times):
                self.client.run_compute({"x": np.zeros(3)})
        def __exit__(self, *_):
            self.channel.close()
            self.server.stop(None).wait()

    assert "PHILOTE_FAST_RUN_STATS" not in os.environ
"""

ENDS = {
    "well": ("", 0, ""),
    "by an exception": ("raise ValueError('no such wing')", 1, "ValueError: no such wing"),
    "by sys.exit": ("sys.exit('bye')", 1, "bye"),
    "by an interrupt": ("import signal; signal.raise_signal(2)", -2, "KeyboardInterrupt"),
}


def run(tmp_path, body, *arguments):
    script = tmp_path / "script.py"
    # At the end of the path, and from elsewhere: the installed package is the one that runs.
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = f"import sys; sys.path.append({root!r})\n"
    script.write_text(path + textwrap.dedent(CALLS) + textwrap.dedent(body))
    return command(tmp_path, *arguments, str(script))


def command(directory, *arguments):
    """Run the command from elsewhere: a checkout's package may be without its extension."""
    return subprocess.run(
        [sys.executable, "-m", "philote_fast", "run", *arguments],
        env={**os.environ, "PHILOTE_FAST": "1"},
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


_ROW = re.compile(r"native (client|server) 127\.0\.0\.1:\d+(?: \(gone\))? +(\d+) ")


def tables(text):
    """The calls that are told of, by side, for each process."""
    found = []
    for line in text.splitlines():
        if line.startswith("philote-fast: calls of process"):
            found.append({})
        elif row := _ROW.match(line):
            found[-1][row[1]] = found[-1].get(row[1], 0) + int(row[2])
    return found


# Setup, the definitions, and what is computed.
SET_UP = 2


@pytest.mark.parametrize("end", ENDS)
def test_the_table_is_printed_however_the_script_ends(end, tmp_path):
    last, code, text = ENDS[end]
    body = "with Work() as work:\n    work.call(7)\nprint('out')\n" + last + "\n"
    done = run(tmp_path, body, "--stats")
    assert (done.returncode, done.stdout) == (code, "out\n"), done.stderr
    assert text in done.stderr
    assert tables(done.stderr) == [{"client": 7 + SET_UP, "server": 7 + SET_UP}], done.stderr
    plain = run(tmp_path, body)
    assert (plain.returncode, plain.stdout) == (code, "out\n")
    assert not tables(plain.stderr)


def test_no_calls(tmp_path):
    done = run(tmp_path, "", "--stats")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines()[1:] == ["no calls were counted"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_begins_at_zero(tmp_path):
    body = """
        import philote_fast
        work = Work().__enter__()
        work.call(7)
        if not os.fork():
            assert not philote_fast.stats().entries
            with Work() as own:
                own.call(3)
            sys.exit(0)
        assert os.wait()[1] == 0
        work.call(1)
        work.__exit__()
    """
    done = run(tmp_path, body, "--stats")
    assert done.returncode == 0, done.stderr
    child, parent = tables(done.stderr)
    assert child == {"client": 3 + SET_UP, "server": 3 + SET_UP}
    assert parent == {"client": 8 + SET_UP, "server": 8 + SET_UP}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing_are_not_in_it(method, tmp_path):
    body = f"""
        import multiprocessing
        def child():
            with Work() as own:
                own.call(3)
        if __name__ == "__main__":
            process = multiprocessing.get_context({method!r}).Process(target=child)
            process.start()
            process.join()
            assert process.exitcode == 0
            with Work() as work:
                work.call(2)
    """
    done = run(tmp_path, body, "--stats")
    assert done.returncode == 0, done.stderr
    assert tables(done.stderr) == [{"client": 2 + SET_UP, "server": 2 + SET_UP}], done.stderr
    assert "not of its children" in done.stderr


def test_grpcios_inherited_meter_is_left_to_the_parent(tmp_path):
    """In a child the calls of a channel made before are counted from zero."""
    body = """
        import philote_fast
        from philote_fast.transport import replacing
        from philote_fast.patches import meters
        replacing.restore()
        channel = grpc.insecure_channel("127.0.0.1:1")
        client = pmdo.ExplicitClient(channel=channel)
        for _ in range(3):
            meters.skip(client)
        count = lambda: [each.counts.calls for each in philote_fast.stats()]
        assert count() == [3]
        if not os.fork():
            meters.skip(client)
            assert count() == [1]
            os._exit(0)
        assert os.wait()[1] == 0
        assert count() == [3]
    """
    done = run(tmp_path, body)
    assert done.returncode == 0, done.stderr


def test_the_option_goes_before_the_script(tmp_path):
    assert "--stats" in command(tmp_path, "--help").stdout
    done = run(tmp_path, "print(sys.argv[1:])")
    assert done.stdout == "[]\n"
    refused = command(tmp_path, "--stats")
    assert refused.returncode == 2
    assert "a script is expected" in refused.stderr


def test_without_a_standard_error(tmp_path):
    """What is printed to None would be on standard output, among what the script prints."""
    done = run(tmp_path, "sys.stderr = None; print('done')", "--stats")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
