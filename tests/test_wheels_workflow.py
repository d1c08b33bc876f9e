"""The workflow that builds wheels agrees with what the package says of itself."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = ROOT / ".github" / "workflows" / "wheels.yml"
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def jobs():
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]


def steps(jobs):
    return [step for job in jobs.values() for step in job["steps"]]


def test_every_python_of_the_classifiers_has_a_wheel(jobs):
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    built = jobs["wheel"]["strategy"]["matrix"]["python"]
    assert declared
    assert set(declared) <= set(built)
    (lowest,) = re.findall(r'^requires-python = ">=(.*)"$', PYPROJECT, re.MULTILINE)
    assert built[0] == declared[0] == lowest


def test_every_one_of_them_is_tested(jobs):
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    (test,) = [step for step in jobs["wheel"]["steps"] if step.get("name") == "Test"]
    assert "pytest" in test["run"]
    left_out = re.findall(r"matrix\.python != '(.*?)'", test["if"])
    assert set(left_out).isdisjoint(declared)


def test_the_stable_abi_is_a_feature(jobs):
    assert "abi3" in jobs["wheel"]["strategy"]["matrix"]["python"]
    assert "--features abi3" in WORKFLOW.read_text(encoding="utf-8")
    assert re.search(r"^abi3 = \[", (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_platforms(jobs):
    names = [platform["name"] for platform in jobs["wheel"]["strategy"]["matrix"]["platform"]]
    assert names == [
        *("linux-x86_64", "linux-arm64"),
        *("macos-arm64", "macos-x86_64"),
        "windows-x86_64",
    ]


def test_maturin_is_that_of_pyproject(jobs):
    (required,) = re.findall(r'^requires = \["maturin(.*)"\]$', PYPROJECT, re.MULTILINE)
    runs = "".join(step.get("run", "") for step in steps(jobs))
    asked = re.findall(r'install "maturin(?:\[zig\])?(.*)"', runs)
    assert asked == [required] * 2


def test_actions_are_pinned():
    """By the hash of a commit, with the version beside it for people."""
    used = re.findall(r"uses: (.*)", WORKFLOW.read_text(encoding="utf-8"))
    assert used
    for each in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", each), each


def test_nothing_is_published_unasked(jobs):
    publish = jobs["publish"]
    assert set(publish["needs"]) == set(jobs) - {"publish"}
    assert "startsWith(github.ref, 'refs/tags/v')" in publish["if"]
    assert "vars.PUBLISH_TO_PYPI == 'true'" in publish["if"]
    others = [job for name, job in jobs.items() if name != "publish"]
    assert all("permissions" not in job for job in others)
    assert all("publish" not in str(job) for job in others)
