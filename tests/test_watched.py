"""Metadata lists that count who could have changed them: as lists, and as what tables go by."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from philote_mdo.general import Discipline
from philote_mdo.generated.data_pb2 import VariableMetaData, kInput

from philote_fast._core import Table, Tables
from philote_fast.patches.watched import Watched

from . import local
from .made import Explicit


def _rest_after_a_change(items: Any) -> Any:
    steps = iter(items)
    first = next(steps)
    items.insert(0, 8)
    return [first, *steps]


#: What can be done with a list, so that its items are compared with a plain list's afterwards.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda items: operator.add(items, [9]),
    "add a number": lambda items: operator.add(items, 9),
    "add to": lambda items: operator.add([9], items),
    "append": lambda items: items.append(9),
    "clear": lambda items: items.clear(),
    "contains": lambda items: 2 in items,
    "copy": lambda items: items.copy(),
    "count": lambda items: items.count(1),
    "delete": lambda items: operator.delitem(items, 1),
    "delete slice": lambda items: operator.delitem(items, slice(0, 2)),
    "equal": lambda items: items == [3, 1, 2, 1],
    "extend": lambda items: items.extend([7, 8]),
    "extend by itself": lambda items: items.extend(items),
    "first": lambda items: items[0],
    "greater": lambda items: items > [3, 1, 2],
    "in place add": lambda items: operator.iadd(items, [5]),
    "in place multiply": lambda items: operator.imul(items, 2),
    "index": lambda items: items.index(2),
    "index error": lambda items: items[17],
    "init": lambda items: items.__init__([4]),
    "insert": lambda items: items.insert(1, 9),
    "less": lambda items: items < [3, 1, 2],
    "list": list,
    "multiply": lambda items: items * 2,
    "pop": lambda items: items.pop(),
    "pop first": lambda items: items.pop(0),
    "remove": lambda items: items.remove(1),
    "remove absent": lambda items: items.remove(99),
    "repr": repr,
    "reverse": lambda items: items.reverse(),
    "reversed": lambda items: list(reversed(items)),
    "rest after a change": _rest_after_a_change,
    "right multiply": lambda items: 2 * items,
    "set": lambda items: operator.setitem(items, 1, 9),
    "set slice": lambda items: operator.setitem(items, slice(1, 3), [9]),
    "slice": lambda items: items[1:3],
    "sort": lambda items: items.sort(),
    "sorted": sorted,
    "sum": lambda items: sum([items, items], []),  # noqa: RUF017  as a user may
    "tuple": tuple,
    "unequal": lambda items: items != [3, 1, 2, 1],
    "unpack": lambda items: [*items],
}


def attempt(operation: Callable[[Any], Any], items: Any) -> tuple[Any, str]:
    try:
        return operation(items), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("name", OPERATIONS)
def test_is_a_list_like_any_other(name: str) -> None:
    plain, items = [3, 1, 2, 1], Watched([3, 1, 2, 1])
    assert attempt(OPERATIONS[name], items) == attempt(OPERATIONS[name], plain)
    assert list(items) == plain


@pytest.mark.parametrize("name", OPERATIONS)
def test_counts_all_that_may_give_an_element_away_or_change_the_list(name: str) -> None:
    items = Watched([3, 1, 2, 1])
    before = items.touches
    attempt(OPERATIONS[name], items)
    assert items.touches > before


def test_length_and_truth_give_nothing_away() -> None:
    items = Watched([1])
    before = items.touches
    assert (len(items), bool(items)) == (1, True)
    assert items.touches == before


@pytest.mark.parametrize("walk", [iter, reversed])
def test_an_iterator_that_is_kept_counts_at_each_step(walk: Callable[[Any], Any]) -> None:
    items = Watched([1, 2, 3])
    steps = walk(items)
    next(steps)
    before = items.touches
    next(steps)
    assert items.touches > before


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda items: pickle.loads(pickle.dumps(items))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_plain_lists(copied: Callable[[Any], Any]) -> None:
    twin = copied(Watched([1, 2]))
    assert type(twin) is list
    assert twin == [1, 2]


def test_a_list_that_is_initialised_again_does_not_count_from_zero() -> None:
    items = Watched([1])
    items.append(2)
    before = items.touches
    items.__init__([3])  # type: ignore[misc]
    assert items.touches > before
    assert items == [3]


# The tables that are made of such a list.


class Counting:
    """A message that counts how often it is read."""

    def __init__(self, message: VariableMetaData) -> None:
        self.message = message
        self.reads = 0

    def SerializeToString(self) -> bytes:  # noqa: N802
        self.reads += 1
        return self.message.SerializeToString()


def variable(name: str = "x", extent: int = 2) -> VariableMetaData:
    return VariableMetaData(type=kInput, name=name, shape=[extent])


def size_of(table: Table) -> int:
    """Tell how many values the table expects for ``x``, by what it writes."""
    for size in range(1, 9):
        try:
            table.write_request({"x": np.zeros(size)}, None, None, None, 1000)
        except ValueError:
            continue
        return size
    raise AssertionError("no size fits")


def test_an_untouched_list_is_not_read_again() -> None:
    tables = Tables()
    metadata = Watched([Counting(variable())])
    tables.get(metadata)
    reads = list.__getitem__(metadata, 0).reads
    for _ in range(3):
        tables.get(metadata)
    assert list.__getitem__(metadata, 0).reads == reads
    metadata[0]
    tables.get(metadata)
    assert list.__getitem__(metadata, 0).reads == reads + 1


def _by_loop(metadata: Any) -> None:
    for meta in metadata:
        meta.shape[:] = [5]


def _by_filter(metadata: Any) -> None:
    next(meta for meta in metadata if meta.name == "x").shape[:] = [5]


def _by_sort(metadata: Any) -> None:
    def key(meta: Any) -> int:
        meta.shape[:] = [5]
        return 0

    metadata.sort(key=key)


EDITS: dict[str, Callable[[Any], Any]] = {
    "by index": lambda metadata: operator.setitem(metadata[0].shape, 0, 5),
    "by list and": lambda metadata: operator.setitem(operator.add([], metadata)[0].shape, 0, 5),
    "by loop": _by_loop,
    "by filter": _by_filter,
    "by sort": _by_sort,
    "by sum": lambda metadata: operator.setitem((Watched() + metadata)[0].shape, 0, 5),
    "by slice": lambda metadata: operator.setitem(metadata[:][0].shape, 0, 5),
    "by copy": lambda metadata: operator.setitem([*metadata][-1].shape, 0, 5),
    "by reversed": lambda metadata: operator.setitem(next(reversed(metadata)).shape, 0, 5),
    "replaced": lambda metadata: operator.setitem(metadata, 0, variable("x", 5)),
    "all replaced": lambda metadata: operator.setitem(metadata, slice(None), [variable("x", 5)]),
    "initialised": lambda metadata: metadata.__init__([variable("x", 5)]),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_noticed(name: str) -> None:
    tables = Tables()
    metadata = Watched([variable()])
    for _ in range(2):
        assert size_of(tables.get(metadata)) == 2
    EDITS[name](metadata)
    assert size_of(tables.get(metadata)) == 5


def test_an_edit_by_somebody_who_has_long_held_the_element_is_noticed() -> None:
    tables = Tables()
    held = variable()
    metadata = Watched([held])
    for extent in (2, 3, 4):
        held.shape[:] = [extent]
        assert size_of(tables.get(metadata)) == extent


def test_an_edit_by_an_iterator_that_was_kept_is_noticed() -> None:
    tables = Tables()
    metadata = Watched([variable("w", 1), variable()])
    steps = iter(metadata)
    next(steps)
    for _ in range(2):
        assert size_of(tables.get(metadata)) == 2
    next(steps).shape[:] = [5]
    assert size_of(tables.get(metadata)) == 5


def test_two_that_share_a_list_notice_an_edit_both() -> None:
    first, second = Tables(), Tables()
    metadata = Watched([variable()])
    assert size_of(first.get(metadata)) == size_of(second.get(metadata)) == 2
    metadata[0].shape[:] = [5]
    assert size_of(first.get(metadata)) == 5
    assert size_of(second.get(metadata)) == 5


def test_another_list_is_read() -> None:
    tables = Tables()
    assert size_of(tables.get(Watched([variable()]))) == 2
    assert size_of(tables.get(Watched([variable("x", 5)]))) == 5
    assert size_of(tables.get([variable("x", 6)])) == 6


# Where they are.


def doubling() -> Explicit:
    return Explicit(
        {"x": (2,)}, {"y": (2,)}, lambda inputs, outputs: outputs.update(y=2 * inputs["x"])
    )


def test_disciplines_and_clients_have_them() -> None:
    with local.explicit(doubling()) as (client, servicer):
        for owner in (client, servicer._discipline):
            assert type(owner._var_meta) is type(owner._partials_meta) is Watched


def test_a_discipline_that_clears_its_data_has_new_ones() -> None:
    discipline = Discipline()
    former = discipline._var_meta
    discipline.add_input("x")
    discipline._clear_data()
    assert type(discipline._var_meta) is Watched
    assert discipline._var_meta == []
    assert discipline._var_meta is not former


def test_a_discipline_that_has_served_declares_on() -> None:
    with local.explicit(doubling()) as (client, servicer):
        client.run_compute({"x": np.ones(2)})
        servicer._discipline.add_input("z", shape=(3,))
        with pytest.raises(ValueError, match="x"):
            servicer._discipline.add_input("x")
        client.get_variable_definitions()
        assert [meta.name for meta in client._var_meta] == ["x", "y", "z"]
        outputs = client.run_compute({"x": np.ones(2), "z": np.ones(3)})
        np.testing.assert_array_equal(outputs["y"], [2.0, 2.0])
