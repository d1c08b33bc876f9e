"""``philote-fast run``: a script that cannot tell the difference, on the native transport."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from philote_fast.cli import startup

RUN = [sys.executable, "-m", "philote_fast", "run"]

SCRIPTS = {
    "tells.py": """
        import inspect, os, sys
        main = sys.modules["__main__"]
        spec = main.__spec__ and main.__spec__.name
        print(__name__, __file__, spec, __package__, sys.argv, sys.path, sys.flags)
        print(main.__dict__ is globals(), sorted(globals()), len(inspect.stack()))
        print(os.environ.get("PYTHONPATH"), sys.stdin.read())
    """,
    "exits.py": "import sys; sys.exit(eval(sys.argv[1]))",
    "raises.py": """
        def inner():
            raise ValueError("no such wing")
        try:
            inner()
        except ValueError as error:
            raise RuntimeError("the outer one") from error
    """,
    "broken.py": "def f(:\n",
    "warns.py": "import warnings; warnings.warn('from the top', stacklevel=2)",
    "interrupted.py": "import os, time; os.kill(os.getpid(), 2); time.sleep(60)",
    "killed.py": "import os, time; os.kill(os.getpid(), 15); time.sleep(60)",
    "atexit.py": """
        import atexit, threading, time
        atexit.register(print, "last")
        threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
        print("main")
    """,
    "folder/__main__.py": "import sys; print('folder', __package__, sys.argv, sys.path[0])",
    "package/__init__.py": "",
    "package/__main__.py": "import sys; print('package', __package__, sys.argv, sys.path[0])",
    "package/part.py": "import sys; print(__name__, __spec__.name, __package__); sys.exit('bye')",
    # Names bound at once, and by modules that philote_fast has imported before the script.
    "native.py": """
        import json, sys
        import grpc, grpc.aio
        from grpc import server, insecure_channel
        import philote_mdo.general
        import philote_fast
        names = ("insecure_channel", "secure_channel", "server", "ssl_server_credentials")
        native = {name: getattr(philote_fast, name) for name in names}
        assert all(getattr(grpc, name) is native[name] for name in names)
        assert server is native["server"] and insecure_channel is native["insecure_channel"]
        assert grpc.aio.insecure_channel.__module__.startswith("grpc.aio")
        assert philote_fast.status().replaced == tuple(f"grpc.{name}" for name in names)
        assert "grpc.server" in str(philote_fast.status()).splitlines()[1]
        print(philote_fast.installed())
    """,
    "children.py": """
        import multiprocessing, sys
        class Wing:
            pass
        def look(wing):
            import grpc, philote_fast
            assert type(wing) is Wing
            return grpc.server is philote_fast.server
        def look_deeper(wing):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                return pool.map(look, [wing])
        if __name__ == "__main__":
            from concurrent.futures import ProcessPoolExecutor
            context = multiprocessing.get_context(sys.argv[1])
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                print(pool.submit(look, Wing()).result(), pool.submit(look_deeper, Wing()).result())
    """,
    "site/sitecustomize.py": "print('the site has a word', __name__)",
    "in_order.py": "import sys; print(sys.modules['sitecustomize'].__file__)",
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    for name, text in SCRIPTS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())
    return folder


def run(command, cwd, **environment):
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PHILOTE_FAST": "1", **environment},
        input="what stdin has",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


ALIKE = [
    ("tells.py",),
    ("folder/../tells.py", "--help", "-m", "--", "a b", ""),
    ("-m", "tells", "-m", "pytest"),
    ("exits.py", "3"),
    ("exits.py", "None"),
    ("exits.py", "'the text of an exit'"),
    ("exits.py", "(1, 2)"),
    ("exits.py", "256 + 7"),
    ("raises.py",),
    ("-m", "raises"),
    ("broken.py",),
    ("warns.py",),
    ("interrupted.py",),
    ("killed.py",),
    ("atexit.py",),
    ("folder",),
    ("-m", "package", "argument"),
    ("-m", "package.part"),
    ("-mpackage.part",),
    ("-m", "package.missing"),
    ("-m", "missing"),
    ("missing.py",),
    ("site",),
]


@pytest.mark.parametrize("arguments", ALIKE, ids=" ".join)
def test_as_python_runs_it(arguments, scripts):
    plain = run([sys.executable, *arguments], scripts)
    assert run([*RUN, *arguments], scripts) == plain


def test_signals_end_it_as_they_end_python(scripts):
    assert run([*RUN, "interrupted.py"], scripts)[0] == -signal.SIGINT
    assert run([*RUN, "killed.py"], scripts)[0] == -signal.SIGTERM
    assert run([*RUN, "missing.py"], scripts)[0] == 2
    assert run([*RUN, "-m", "missing"], scripts)[0] == 1


def test_the_script_can_be_standard_input(scripts):
    done = subprocess.run(
        [*RUN, "-", "a"],
        cwd=scripts,
        input="import sys, grpc, philote_fast; print(sys.argv, grpc.server is philote_fast.server)",
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("['-', 'a'] True\n", "")


def test_pythons_own_options_and_path_are_kept(scripts):
    options = ["-u", "-O", "-X", "dev", "-W", "ignore::ResourceWarning"]
    path = {"PYTHONPATH": os.pathsep.join([str(scripts / "folder"), str(scripts)])}
    plain = run([sys.executable, *options, "tells.py"], scripts, **path)
    started = [sys.executable, *options, *RUN[1:], "tells.py"]
    assert run(started, scripts, **path) == plain
    assert path["PYTHONPATH"] in plain[1]


def test_the_sites_own_customization_runs(scripts):
    path = {"PYTHONPATH": str(scripts / "site")}
    code, out, _ = run([*RUN, "in_order.py"], scripts, **path)
    assert code == 0
    # Once in the process of the command, which becomes that of the script.
    assert out.splitlines() == ["the site has a word sitecustomize"] * 2 + [
        str(scripts / "site" / "sitecustomize.py")
    ]


@pytest.mark.parametrize("arguments", [("native.py",), ("-m", "native")], ids=" ".join)
def test_the_constructors_are_native(arguments, scripts):
    assert run([*RUN, *arguments], scripts) == (0, "True\n", "")


def test_philote_mdo_may_stay_stock(scripts):
    assert run([*RUN, "native.py"], scripts, PHILOTE_FAST="0") == (0, "False\n", "")


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_of_multiprocessing_are_native(method, scripts):
    assert run([*RUN, "children.py", method], scripts) == (0, "True [True]\n", "")


def test_a_script_never_runs_on_grpcio_unnoticed(scripts):
    """What goes wrong while the transport is put in place ends the process before the script."""
    folder = startup.__path__[0]
    spoil = "import sys; sys.modules['grpc'] = None; import sitecustomize"
    done = run([sys.executable, "-S", "-c", spoil], scripts, PYTHONPATH=folder)
    assert done[:2] == (1, "")
    assert "the native transport could not be put in place" in done[2]
    assert "ModuleNotFoundError" in done[2]


@pytest.mark.parametrize(
    ("options", "arguments", "status", "complaint"),
    [
        ([], [], 2, "a script is expected"),
        ([], ["-m"], 2, "a module is expected"),
        ([], ["-q", "tells.py"], 2, "unrecognized option '-q'"),
        (["-E"], ["tells.py"], 1, "-E, -I and -S"),
    ],
)
def test_wrong_use(options, arguments, status, complaint, scripts):
    command = [sys.executable, *options, *RUN[1:], *arguments]
    code, out, errors = run(command, scripts)
    assert (code, out) == (status, "")
    assert complaint in errors
    assert "Traceback" not in errors


def test_help(scripts):
    code, out, errors = run([*RUN, "--help"], scripts)
    assert (code, errors) == (0, "")
    assert "usage: philote-fast run [-h] [--stats] (SCRIPT | -m MODULE) [ARGS ...]" in out
