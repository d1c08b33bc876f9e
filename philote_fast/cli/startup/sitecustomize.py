"""Makes a fresh interpreter native: imports philote_fast, replaces grpc's constructors.

``philote-fast run`` puts this folder first on ``PYTHONPATH``, so that Python itself runs this file
before the user's script; children that ``multiprocessing`` spawns run it by its path. Before any
code of the user's runs, the environment and ``sys.path`` are as they would be without it.
"""

import atexit
import importlib.util
import os
import signal
import sys
import traceback

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))


def make_native() -> None:
    """Import the philote_fast that this file is a part of, wherever it lies, and replace."""
    if "philote_fast" not in sys.modules:
        _import_package()
    from philote_fast.cli import children
    from philote_fast.transport import replacing

    replacing.replace()
    children.make_native_too()


def _import_package() -> None:
    """Import philote_fast by its place: it need not be on the path of the script."""
    spec = importlib.util.spec_from_file_location(
        "philote_fast", os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no philote_fast in {_PACKAGE}")
    package = importlib.util.module_from_spec(spec)
    sys.modules["philote_fast"] = package
    spec.loader.exec_module(package)


def _leave_no_trace() -> None:
    """Take this folder from the path, and from what child processes inherit."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    sys.path_importer_cache.pop(_HERE, None)
    entries = os.environ["PYTHONPATH"].split(os.pathsep)
    left = os.pathsep.join(entry for entry in entries if entry != _HERE)
    if left:
        os.environ["PYTHONPATH"] = left
    else:
        del os.environ["PYTHONPATH"]


def _print_stats() -> None:
    """Print what was counted: the last thing that the process does."""
    from philote_fast import stats

    # To None, print would write on standard output.
    if sys.stderr is None:
        return
    print(
        f"philote-fast: calls of process {os.getpid()}, not of its children\n{stats()}",
        file=sys.stderr,
    )


def _run_the_sites_own() -> None:
    """Run the ``sitecustomize`` that this one has hidden, if there is one."""
    ours = sys.modules.pop("sitecustomize")
    spec = importlib.util.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        sys.modules["sitecustomize"] = ours
        return
    theirs = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = theirs
    # What it raises is the site module's to report, as ever.
    spec.loader.exec_module(theirs)


def _start() -> None:
    """Make this process native, or end it: a script must not run on grpcio unnoticed."""
    _leave_no_trace()
    with_stats = os.environ.pop("PHILOTE_FAST_RUN_STATS", None) is not None
    try:
        make_native()
        if with_stats:
            atexit.register(_print_stats)
    except KeyboardInterrupt:
        # As a Python that is interrupted ends; from here Python itself would call it a fatal error.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        sys.stderr.write("philote-fast: the native transport could not be put in place\n")
        sys.stderr.flush()
        os._exit(1)
    _run_the_sites_own()


if __name__ == "sitecustomize":
    _start()
else:
    make_native()
