"""Metadata lists edited by hand between two declarations: stock and patched agree."""

import random
from unittest import mock

import pytest
from philote_mdo.general import Discipline
from philote_mdo.generated import data_pb2 as data
from philote_mdo.utils.validation import PhiloteValidationError

from .declaring import agree


def edit_append(d):
    d._var_meta.append(data.VariableMetaData(name="by hand", type=data.kInput))
    d.add_input("by hand")


def edit_delete(d):
    del d._var_meta[2]
    d.add_input("x2")
    d.add_input("x3")


def edit_delete_and_append(d):
    del d._var_meta[2]
    d._var_meta.append(data.VariableMetaData(name="new", type=data.kInput))
    d.add_input("x2")
    d.add_input("new")


def edit_replace_list(d):
    d._var_meta = [data.VariableMetaData(name="other", type=data.kInput)]
    d.add_input("x1")
    d.add_input("other")


def edit_same_length(d):
    d._var_meta[:] = [
        data.VariableMetaData(name=f"new{i}", type=data.kInput) for i in range(len(d._var_meta))
    ]
    d.add_input("x1")
    d.add_input("new1")


def edit_replace_element(d):
    d._var_meta[0] = data.VariableMetaData(name="new", type=data.kInput)
    d.add_input("x0")
    d.add_input("new")


def edit_rename_then_old_name(d):
    d._var_meta[1].name = "new"
    d.add_input("x1")
    d.add_input("new")


def edit_rename_then_new_name(d):
    d._var_meta[-1].name = "new"
    d.add_input("new")


def edit_rename_past_the_list(d):
    last = list.__getitem__(d._var_meta, -1)
    last.name = "new"
    d.add_input("new")


def edit_kind(d):
    d._var_meta[1].type = data.kOutput
    d.add_input("x1")
    d.add_output("x1")


def edit_clear(d):
    d._clear_data()
    d.add_input("x1")
    d.add_input("x1")


def edit_reverse(d):
    d._var_meta.reverse()
    d.add_input("x1")


def edit_repeat(d):
    d._var_meta.append(data.VariableMetaData(name="x1", type=data.kInput))
    d._var_meta[1].name = "free"
    d.add_input("x1")


def edit_repeat_and_pop(d):
    d._var_meta += [data.VariableMetaData(name="x1", type=data.kInput)] * 2
    d._var_meta.pop()
    d._var_meta.pop()
    del d._var_meta[1]
    d.add_input("x1")
    d.add_input("x1")


def edit_strange_element(d):
    d._var_meta.append(mock.Mock(type=data.kInput, **{"SerializeToString.return_value": b"mock"}))
    d._var_meta[-1].name = "strange"
    d.add_input("fine")
    d.add_input("strange")


EDITS = [edit for name, edit in sorted(globals().items()) if name.startswith("edit_")]


@pytest.mark.parametrize("edit", EDITS, ids=lambda e: e.__name__[5:])
@pytest.mark.parametrize("count", [4, 20, 400])
def test_edits_by_hand(edit, count):
    def case(d):
        for i in range(count):
            d.add_input(f"x{i}")
        edit(d)

    agree(case)


def test_an_element_that_was_held_while_another_was_declared_is_read_again():
    """Though it is let go, and nobody has touched the list since."""

    def case(d):
        for name in "abc":
            d.add_input(name)
        held = d._var_meta[1]
        d.add_input("d")
        held.name = "renamed"
        del held
        d.add_input("renamed")

    error, _ = agree(case)
    assert error[0] is PhiloteValidationError


def test_random_edits():
    """Short lists are followed exactly, whatever is done to them."""
    for seed in range(300):

        def case(d, seed=seed):
            rng = random.Random(seed)
            for _ in range(25):
                random_step(rng, d)

        agree(case)


def random_step(rng, d):
    name, kind = rng.choice("abcdefgh"), rng.choice([data.kInput, data.kOutput, data.kResidual])
    variables = d._var_meta
    step = rng.randrange(9)
    if step < 4:
        try:
            (d.add_input if step % 2 else d.add_output)(name)
        except PhiloteValidationError:
            variables.append(data.VariableMetaData(name="refused " + name, type=kind))
    elif step == 4:
        variables.insert(
            rng.randint(0, len(variables)), data.VariableMetaData(name=name, type=kind)
        )
    elif step == 5 and variables:
        del variables[rng.randrange(len(variables))]
    elif step == 6 and variables:
        variables[rng.randrange(len(variables))].name = name
    elif step == 7 and variables:
        variables[rng.randrange(len(variables))].type = kind
    elif step == 8:
        d._var_meta = list(variables)
        rng.shuffle(d._var_meta)


def test_an_element_replaced_in_the_middle_of_a_long_list_is_found_in_time():
    discipline = Discipline()
    for i in range(500):
        discipline.add_input(f"x{i}")
    discipline._var_meta[250] = data.VariableMetaData(name="replaced", type=data.kInput)
    for i in range(500, 1100):
        discipline.add_input(f"x{i}")
    with pytest.raises(PhiloteValidationError, match="already defined"):
        discipline.add_input("replaced")
