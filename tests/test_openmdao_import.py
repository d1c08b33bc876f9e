"""The patches of philote_mdo.openmdao follow its import, each case in a fresh interpreter."""

import textwrap

from .test_install_fresh import run

STATE = """
import sys

def state():
    # Not before: the code below decides what is imported first.
    from philote_fast.patches.later import Watch
    waits = any(isinstance(finder, Watch) for finder in sys.meta_path)
    component = sys.modules["philote_mdo.openmdao.explicit"].RemoteExplicitComponent
    patched = "philote_fast" in component.compute.__code__.co_filename
    return {(True, False): "waiting", (False, True): "patched", (False, False): "stock"}[
        waits, patched
    ]
"""


def check(code, **environment):
    """Run code that may ask for the ``state()`` of the patches."""
    run(STATE + textwrap.dedent(code), **environment)


def test_philote_fast_first():
    check(
        """
        import philote_fast
        assert "openmdao" not in sys.modules and "philote_mdo.openmdao" not in sys.modules
        status = philote_fast.status()
        assert status.waiting == "philote_mdo.openmdao" and status.all_fast
        assert "philote_mdo.openmdao: patched once it is imported" in str(status)
        import philote_mdo.openmdao as pmom
        assert state() == "patched"
        status = philote_fast.status()
        assert status.waiting == "" and status.all_fast
        assert any("RemoteExplicitComponent.compute" in row.attribute for row in status)
        assert pmom.__spec__.loader is pmom.__loader__
        assert "philote_fast" not in type(pmom.__loader__).__module__
        """
    )


def test_philote_fast_last():
    check(
        """
        import philote_mdo.openmdao, philote_fast
        assert state() == "patched"
        """
    )


def test_a_name_bound_early():
    check(
        """
        from philote_mdo.openmdao.utils import client_setup as before
        stock = [before]
        import philote_fast
        assert before is not stock[0]
        philote_fast.uninstall()
        assert before is stock[0]
        """
    )


def test_uninstalled_before_the_import():
    check(
        """
        import philote_fast
        philote_fast.uninstall()
        import philote_mdo.openmdao
        assert state() == "stock"
        philote_fast.install()
        assert state() == "patched"
        philote_fast.uninstall()
        assert state() == "stock"
        """
    )


def test_prevented_by_the_environment():
    check(
        """
        import philote_fast, philote_mdo.openmdao
        assert state() == "stock" and philote_fast.status().waiting == ""
        """,
        PHILOTE_FAST="0",
    )


def test_without_openmdao():
    check(
        """
        import warnings
        warnings.simplefilter("error")
        sys.modules["openmdao"] = None
        import philote_fast, philote_mdo.openmdao
        assert not philote_mdo.openmdao.omdao_installed
        assert philote_fast.status().all_fast
        philote_fast.install()
        """
    )


def test_an_import_that_fails():
    check(
        """
        import philote_fast, philote_mdo
        path = list(philote_mdo.__path__)
        philote_mdo.__path__[:] = []
        try:
            import philote_mdo.openmdao
        except ModuleNotFoundError:
            pass
        else:
            raise SystemExit("found where there is none")
        philote_mdo.__path__[:] = path
        import philote_mdo.openmdao
        assert state() == "patched"
        """
    )


def test_threads_that_import_and_install():
    check(
        """
        import threading, philote_fast
        start = threading.Barrier(3)

        def load():
            start.wait()
            import philote_mdo.openmdao

        def install():
            start.wait()
            for _ in range(20):
                philote_fast.install()
                philote_fast.status()

        threads = [threading.Thread(target=t, daemon=True) for t in (load, load, install)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        assert state() == "patched"
        """
    )
