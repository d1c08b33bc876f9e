"""The install at import, each case in a fresh interpreter."""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import philote_mdo.general.discipline
import pytest


def run(code, *, path=None, flags=(), **environment):
    """Run code in a fresh interpreter; return what it printed."""
    inherited = {name: v for name, v in os.environ.items() if name != "PHILOTE_FAST"}
    environment = {**inherited, **environment}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(code)],
        env=environment,
        # Not the checkout, whose package may lack the compiled core.
        cwd=sys.prefix,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


# Fresh interpreters


def test_import_orders():
    check = "\nassert philote_fast.status().all_fast, str(philote_fast.status())"
    run("import philote_fast, philote_mdo.general" + check)
    run("import philote_mdo.general, philote_fast" + check)
    run("import philote_mdo.utils\nimport philote_fast" + check)


def test_a_name_in_main_bound_before_and_after():
    run(
        """
        from philote_mdo.generated.disciplines_pb2_grpc import (
            add_ExplicitServiceServicer_to_server as before)
        stock = [before]
        import philote_fast
        from philote_mdo.generated.disciplines_pb2_grpc import (
            add_ExplicitServiceServicer_to_server as after)
        assert before is after is not stock[0]
        philote_fast.uninstall()
        assert before is after is stock[0]
        """
    )


@pytest.mark.parametrize("value", ["0", "false", " OFF ", "no"])
def test_the_environment_prevents_it(value):
    said = run(
        """
        import philote_fast
        assert not philote_fast.installed()
        status = philote_fast.status()
        assert not any(row.state == "fast" for row in status)
        print(status)
        philote_fast.install()
        assert philote_fast.status().all_fast
        philote_fast.uninstall()
        assert not philote_fast.installed()
        """,
        PHILOTE_FAST=value,
    )
    assert "not installed (PHILOTE_FAST=0)" in said


@pytest.mark.parametrize("value", ["", "1", "yes"])
def test_other_values_do_not(value):
    run("import philote_fast\nassert philote_fast.installed()", PHILOTE_FAST=value)


def test_imported_again():
    """A test suite may drop the package from sys.modules and import it anew."""
    run(
        """
        import sys, warnings
        import philote_fast
        for name in [n for n in sys.modules if n.split(".")[0] == "philote_fast"]:
            if not name.endswith("_core"):
                del sys.modules[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import philote_fast
        assert not philote_fast.installed()
        from philote_mdo.general import Discipline
        Discipline().add_input("x")
        """
    )


@pytest.fixture
def other_philote(tmp_path):
    """Give a function that changes a copy of philote_mdo, and has the path of it."""
    source = pathlib.Path(philote_mdo.general.discipline.__file__).parents[1]
    shutil.copytree(source, tmp_path / "philote_mdo", ignore=shutil.ignore_patterns("__pycache__"))

    def change(file, *pairs):
        path = tmp_path / "philote_mdo" / file
        text = path.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    change.path = tmp_path
    return change


def distribution(path, version):
    info = path / f"philote_mdo-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: philote-mdo\nVersion: {version}\n"
    )


COUNT = """
import sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import philote_fast
texts = [str(w.message) for w in caught if w.category is RuntimeWarning]
files = [w.filename for w in caught if w.category is RuntimeWarning]
import philote_mdo
assert philote_mdo.__file__ is None or "site-packages" not in philote_mdo.__file__
status = philote_fast.status()
"""


@pytest.mark.parametrize("version", ["0.7.1", "0.9.0", "0.80.1", "1.0"])
def test_another_version_stays_stock(other_philote, version):
    distribution(other_philote.path, version)
    said = run(
        COUNT + "assert len(texts) == 1 and files == ['<string>'], (texts, files)\n"
        "assert not philote_fast.installed()\n"
        "assert len(status) and not any(r.state == 'fast' for r in status)\n"
        "philote_fast.install()\nprint(texts[0])\nprint(status)",
        path=other_philote.path,
    )
    assert said.count(f"philote-mdo {version} is not 0.8.x") > 1


@pytest.mark.parametrize("version", ["0.8.0", "0.8.7", "0.8.1rc1"])
def test_other_patch_versions_are_fast(other_philote, version):
    distribution(other_philote.path, version)
    run(COUNT + "assert texts == [] and status.all_fast, texts", path=other_philote.path)


CHANGES = {
    "a signature": [("def add_output(self, name, shape", "def add_output(self, name, *, shape")],
    "a name": [("def add_output(", "def add_an_output(")],
    "a decorated function": [
        ("    def add_output(", "    @__import__('functools').lru_cache\n    def add_output(")
    ],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_function_keeps_its_group_stock(other_philote, change):
    other_philote("general/discipline.py", *CHANGES[change])
    distribution(other_philote.path, "0.8.9")
    said = run(
        COUNT + "assert len(texts) == 1, texts\nprint(texts[0])\n"
        "rows = {r.attribute.rpartition('.')[2]: r for r in status}\n"
        "assert rows['add_input'].state == rows['add_discrete_output'].state == 'stock'\n"
        "assert rows['add_DisciplineServiceServicer_to_server'].state == 'fast'\n"
        "assert philote_fast.installed()",
        path=other_philote.path,
    )
    assert "declare (" in said
    assert "add_output" in said


def test_a_missing_module_keeps_its_group_stock(other_philote):
    (other_philote.path / "philote_mdo/generated/disciplines_pb2_grpc.py").write_text("1 / 0\n")
    general = other_philote.path / "philote_mdo/general/__init__.py"
    general.write_text("from .discipline import Discipline\n")
    distribution(other_philote.path, "0.8.9")
    said = run(COUNT + "print(texts[0])\nprint(status)", path=other_philote.path)
    assert "registration" in said
    assert "ZeroDivisionError" in said


def test_warnings_as_errors_do_not_break_the_import(other_philote):
    distribution(other_philote.path, "0.9.0")
    run(
        "import philote_fast\nassert not philote_fast.installed()\nprint(philote_fast.status())",
        path=other_philote.path,
        flags=("-W", "error::RuntimeWarning"),
    )


def test_the_warning_points_at_the_import(other_philote):
    distribution(other_philote.path, "0.9.0")
    (other_philote.path / "inner.py").write_text("x = 1\n\nimport philote_fast\n")
    said = run("import inner", path=other_philote.path)
    assert f"{other_philote.path / 'inner.py'}:3: RuntimeWarning: philote_fast leaves" in said
