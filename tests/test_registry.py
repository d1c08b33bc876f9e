"""Groups of patches: the gates, the helpers of the patches, the status."""

from unittest import mock

import philote_mdo.openmdao  # noqa: F401 - its patches follow its import
import pytest
from philote_mdo.general import Discipline

import philote_fast
from philote_fast.patches import registry
from philote_fast.patches.registry import GROUPS, Group, untouched

PATCHES = [patch for group in GROUPS for patch in group.patches]


@pytest.fixture(autouse=True)
def installed():
    philote_fast.install()
    yield
    philote_fast.uninstall()
    philote_fast.install()
    assert philote_fast.status().all_fast


# The gates


class Owner:
    """A class as if it were philote_mdo's."""

    def method(self, x, y=1):
        return x + y


Owner.__module__ = Owner.method.__module__ = "philote_mdo.fake"


class Derived(Owner):
    pass


Derived.__module__ = "philote_mdo.fake"


@pytest.fixture
def group():
    made = Group("made for a test", "a reason")
    yield made
    GROUPS.remove(made)


def add_patch(group, owner=Owner, name="method", signature="(self, x, y=1)"):
    @group.replaces(owner, name, signature)
    def method(self, x, y=1):
        return "ours"

    return method


def test_a_group_goes_in_and_out(group):
    stock = Owner.method
    ours = add_patch(group)
    assert group.stock(Owner, "method") is stock
    assert group.put_in()
    assert Owner().method(1) == "ours"
    assert Owner.method is ours
    group.take_out()
    assert Owner.method is stock


def test_an_inherited_attribute_is_deleted_afterwards(group):
    add_patch(group, owner=Derived)
    assert group.put_in()
    assert Derived().method(1) == "ours"
    assert Owner().method(1) == 2
    group.take_out()
    assert "method" not in vars(Derived)


@pytest.mark.parametrize(
    ("keywords", "why"),
    [
        ({"name": "absent"}, "philote_mdo has no philote_mdo.fake.Owner.absent"),
        ({"signature": "(self, x)"}, r"has the signature \(self, x, y=1\), not \(self, x\)"),
    ],
)
def test_all_or_nothing(group, keywords, why):
    stock = Owner.method
    add_patch(group)
    add_patch(group, **keywords)
    with pytest.warns(RuntimeWarning, match=f"made for a test .*{why}"):
        philote_fast.install()
    assert Owner.method is stock
    assert not group.active
    rows = [row for row in philote_fast.status() if "fake" in row.attribute]
    assert {row.state for row in rows} == {"stock"}
    assert philote_fast.installed()


@pytest.mark.parametrize("kind", ["wrapped", "other module", "not a function"])
def test_what_is_not_philote_mdo_is_not_replaced(group, kind):
    def method(self, x, y=1):
        return x

    class Victim:
        pass

    Victim.__module__ = "philote_mdo.fake"
    if kind == "wrapped":
        method.__module__, method.__qualname__ = Victim.__module__, f"{Victim.__qualname__}.method"
        method.__wrapped__ = Owner.method
    Victim.method = mock.Mock() if kind == "not a function" else method
    stock = Victim.method
    add_patch(group, owner=Victim)
    assert not group.put_in()
    assert "already replaced by" in group.objection()
    assert Victim.method is stock


def test_a_failure_half_way_is_undone(group):
    class Stubborn(type):
        def __setattr__(cls, name, value):
            if name == "last":
                raise RuntimeError("no")
            super().__setattr__(name, value)

    class Victim(metaclass=Stubborn):
        def method(self, x, y=1):
            pass

        def last(self, x, y=1):
            pass

    Victim.__module__ = "philote_mdo.fake"
    for function in (Victim.method, Victim.last):
        function.__module__ = "philote_mdo.fake"
    stock = Victim.method
    add_patch(group, owner=Victim)
    add_patch(group, owner=Victim, name="last")
    assert not group.put_in()
    assert Victim.method is stock
    assert group.failure == "RuntimeError: no"


# Helpers of the patches


def test_untouched():
    discipline = Discipline()
    both = ("add_input", "add_output")
    assert untouched(discipline, *both)
    assert untouched(discipline)
    assert not untouched(discipline, "initialize")
    assert not untouched(discipline, "absent")
    discipline.add_input = lambda: None
    assert not untouched(discipline, *both)
    assert untouched(discipline, "add_output")

    class Overriding(Discipline):
        def add_input(self, *args, **keywords):
            super().add_input(*args, **keywords)

    class Crossed(Discipline):
        add_input = Discipline.add_output

    class Watching(Discipline):
        def __getattribute__(self, name):
            return super().__getattribute__(name)

    class Inheriting(Discipline):
        pass

    for kind in (Overriding, Crossed, Watching):
        assert not untouched(kind(), *both)
    assert untouched(Inheriting(), *both)
    with mock.patch.object(Discipline, "add_input"):
        assert not untouched(Inheriting(), *both)
    philote_fast.uninstall()
    assert not untouched(Inheriting(), *both)


def test_fallbacks_are_counted_and_bounded():
    with mock.patch.dict(registry._FALLBACKS, clear=True):
        for _ in range(3):
            registry.note_fallback("a call", "a strange channel")
        status = philote_fast.status()
        assert status.fallbacks == (("a call", "a strange channel", 3),)
        assert "stock code used 3 times for a call: a strange channel" in str(status)
        for i in range(1000):
            registry.note_fallback("a call", str(i))
        assert len(registry.fallbacks()) == registry._FALLBACKS_LIMIT


def test_status_is_a_table():
    status = philote_fast.status()
    assert status.all_fast
    assert bool(status)
    assert len(status) == len(PATCHES) == len(list(status))
    header, *lines = str(status).splitlines()
    assert header == (f"philote_fast {philote_fast.__version__} on philote-mdo 0.8.0: installed")
    assert len({line.index("  fast") for line in lines if "  fast" in line}) == 1
    with pytest.raises(AttributeError):
        status.installed = False
    philote_fast.uninstall()
    status = philote_fast.status()
    assert not status
    assert {(row.state, row.why) for row in status} == {("stock", "not installed")}
