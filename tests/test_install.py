"""Putting the patches in and taking them out."""

import inspect
import sys
import threading
import types
from unittest import mock

import numpy as np
import philote_mdo.openmdao  # noqa: F401 - its patches follow its import
import pytest
from philote_mdo.general import Discipline
from philote_mdo.generated import disciplines_pb2_grpc
from philote_mdo.utils.validation import PhiloteServerError

import philote_fast
from philote_fast.patches import bindings, installer
from philote_fast.patches.registry import GROUPS

from . import local, made

PATCHES = [patch for group in GROUPS for patch in group.patches]


@pytest.fixture(autouse=True)
def installed():
    philote_fast.install()
    yield
    philote_fast.uninstall()
    philote_fast.install()
    assert philote_fast.status().all_fast


# In and out


def test_every_attribute_is_replaced_and_comes_back_identical():
    assert PATCHES
    for patch in PATCHES:
        assert patch.current() is patch.function
        assert patch.function is not patch.stock
    philote_fast.uninstall()
    for patch in PATCHES:
        assert patch.current() is patch.stock
        assert (patch.name in vars(patch.owner)) == patch.own
    assert not philote_fast.installed()


def test_the_namespaces_come_back_as_they_were():
    philote_fast.uninstall()
    owners = {id(p.owner): p.owner for p in PATCHES}.values()
    before = [dict(vars(owner)) for owner in owners]
    philote_fast.install()
    philote_fast.uninstall()
    for owner, names in zip(owners, before, strict=True):
        assert list(vars(owner)) == list(names)
        assert all(vars(owner)[name] is names[name] for name in names)


def test_install_twice_and_uninstall_once_is_stock():
    philote_fast.install()
    philote_fast.install()
    assert philote_fast.installed()
    philote_fast.uninstall()
    assert all(patch.current() is patch.stock for patch in PATCHES)
    philote_fast.uninstall()
    assert not philote_fast.installed()


def test_threads():
    barrier = threading.Barrier(8)
    errors = []

    def work(number):
        barrier.wait()
        try:
            for _ in range(5):
                (philote_fast.install if number % 2 else philote_fast.uninstall)()
                philote_fast.status()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    philote_fast.install()
    assert philote_fast.status().all_fast


# What inspection sees


@pytest.mark.parametrize("patch", PATCHES, ids=lambda p: p.name)
def test_a_replacement_looks_like_stock(patch):
    stock, ours = patch.stock, patch.function
    assert inspect.signature(ours) == inspect.signature(stock)
    assert str(inspect.signature(stock)) == patch.signature
    for name in ("__name__", "__qualname__", "__module__"):
        assert getattr(ours, name) == getattr(stock, name)
    if isinstance(ours, types.BuiltinFunctionType):
        # The extension's own, with a text of its own where stock has none.
        assert stock.__doc__ is None
        return
    assert isinstance(ours, types.FunctionType)
    assert ours.__doc__ == stock.__doc__
    assert inspect.unwrap(ours) is stock


def test_a_replacement_takes_what_stock_takes():
    """The signature that is shown is the real one."""
    for patch in PATCHES:
        own = inspect.signature(patch.function, follow_wrapped=False)
        stock = inspect.signature(patch.stock)
        assert [(p.name, p.kind, p.default) for p in own.parameters.values()] == [
            (p.name, p.kind, p.default) for p in stock.parameters.values()
        ]


def test_doubles():
    double = mock.create_autospec(Discipline)
    with pytest.raises(TypeError):
        double.add_input()
    with mock.patch.object(Discipline, "add_input") as add:
        Discipline().add_input("x")
        add.assert_called_once_with("x")
        row = row_of("Discipline.add_input")
        assert row.state == "stock"
        assert "another tool's patch" in row.why
    assert row_of("Discipline.add_input").state == "fast"


def row_of(name):
    (row,) = (row for row in philote_fast.status() if row.attribute.endswith("." + name))
    return row


# Other tools


def test_a_patch_on_top_survives():
    ours = Discipline.add_input

    def wrapped(self, *args, **keywords):
        return ours(self, *args, **keywords)

    Discipline.add_input = wrapped
    try:
        philote_fast.install()
        assert Discipline.add_input is wrapped
        philote_fast.uninstall()
        assert Discipline.add_input is wrapped
        assert Discipline.add_output is stock_of("add_output")
        row = row_of("Discipline.add_input")
        assert row.state == "stock"
        assert "wrapped" in row.why
        assert __file__ in row.why
        # It lies on top of ours still, so the group fits.
        philote_fast.install()
        assert Discipline.add_input is wrapped
        assert row_of("Discipline.add_output").state == "fast"
        philote_fast.uninstall()
    finally:
        # The tool puts back what it had found: ours.
        Discipline.add_input = ours
    assert "uninstall again" in row_of("Discipline.add_input").why
    philote_fast.uninstall()
    assert Discipline.add_input is stock_of("add_input")


def stock_of(name):
    (patch,) = (p for p in PATCHES if p.owner is Discipline and p.name == name)
    return patch.stock


def test_a_patch_below_keeps_its_group_stock():
    philote_fast.uninstall()
    stock = Discipline.add_output

    def wrapped(self, *args, **keywords):
        return stock(self, *args, **keywords)

    with mock.patch.object(Discipline, "add_output", wrapped):
        installer._warned.clear()
        with pytest.warns(RuntimeWarning, match="add_output is already replaced by .*wrapped") as w:
            philote_fast.install()
        assert [str(item.filename) for item in w] == [__file__]
        assert Discipline.add_output is wrapped
        assert Discipline.add_input is stock_of("add_input")
        assert row_of("Discipline.add_input").state == "stock"
        assert "already replaced" in row_of("Discipline.add_input").why
        status = philote_fast.status()
        assert status.installed
        assert not status.all_fast
        # Said once.
        with mock.patch("warnings.warn_explicit") as warn:
            philote_fast.install()
        warn.assert_not_called()


# Names bound early


def test_a_module_that_bound_a_name_early():
    name = "add_ExplicitServiceServicer_to_server"
    ours = getattr(disciplines_pb2_grpc, name)
    philote_fast.uninstall()
    stock = getattr(disciplines_pb2_grpc, name)
    user = types.ModuleType("user_of_philote")
    user.early = stock
    with mock.patch.dict(sys.modules, user_of_philote=user):
        philote_fast.install()
        assert user.early is ours
        user.late = ours
        philote_fast.uninstall()
        assert (user.early, user.late) == (stock, stock)


def test_odd_modules_are_left_alone():
    class Lazy(types.ModuleType):
        def __getattribute__(self, name):
            raise AssertionError(name)

    odd = {"odd_none": None, "odd_object": object(), "odd_lazy": Lazy("odd_lazy")}
    old, new = object(), object()
    with mock.patch.dict(sys.modules, odd):
        bindings.rebind({id(old): new})


def test_a_server_attached_while_installed_is_stock_after_uninstall():
    """An output of the wrong size is refused by us, and padded by stock."""
    discipline = made.Explicit(
        {"x": (2,)}, {"y": (2,)}, lambda inputs, outputs: outputs.update(y=inputs["x"][:1])
    )
    with local.explicit(discipline) as (client, _):
        with pytest.raises(PhiloteServerError, match="declared with the shape"):
            client.run_compute({"x": np.ones(2)})
        philote_fast.uninstall()
        assert client.run_compute({"x": np.ones(2)})["y"].tolist() == [1.0, 0.0]
