"""``PairDict``: the same as stock's, whatever the key and the class."""

from collections import OrderedDict, namedtuple
from unittest import mock

import philote_mdo.utils as utils
import pytest
from philote_mdo.utils.validation import PhiloteValidationError

from . import peers

Pair = namedtuple("Pair", "function variable")


class TuplesOwn(tuple):
    """A tuple of another class."""


class Noting(utils.PairDict):
    """One that looks at its keys."""

    seen = ()

    def _validate_key(self, keys):
        self.seen = (*self.seen, keys)


class Between(OrderedDict):
    """A dict that is asked before the built-in one."""

    def __setitem__(self, key, value):
        super().__setitem__(key, ("between", value))


class Mixed(utils.PairDict, Between):
    """One whose values go through another class."""


@pytest.mark.parametrize("key", [("f", "x"), Pair("f", "x"), TuplesOwn("fx"), (1, None)])
def test_pairs(flavour, key):
    pairs = utils.PairDict()
    pairs[key] = value = object()
    assert pairs[key] is pairs[tuple(key)] is value
    assert list(pairs.items()) == [(tuple(key), value)]
    assert [type(each) for each in pairs] == [tuple]
    pairs[key] += _Adds()
    assert isinstance(pairs[key], _Adds)


class _Adds:
    def __radd__(self, other):
        return self


@pytest.mark.parametrize("key", ["fx", "f", ("f",), ("f", "x", "y"), ["f", "x"], None, ()])
def test_keys_that_are_no_pairs(flavour, key):
    pairs = utils.PairDict()
    text = "PairDict keys must be a 2-tuple, got "
    with pytest.raises(PhiloteValidationError) as caught:
        pairs[key] = 1
    assert str(caught.value) == f"{text}{key!r}."
    with pytest.raises(PhiloteValidationError) as caught:
        pairs[key]
    assert str(caught.value) == f"{text}{key!r}."
    assert not pairs


def test_what_is_missing_or_no_key_at_all(flavour):
    pairs = utils.PairDict()
    with pytest.raises(KeyError) as caught:
        pairs["f", "x"]
    assert caught.value.args == (("f", "x"),)
    with pytest.raises(TypeError, match="unhashable"):
        pairs["f", []] = 1


def test_subclasses_and_doubles_are_asked(flavour):
    noting = Noting()
    noting["f", "x"] = 1
    assert noting["f", "x"] == 1
    assert noting.seen == (("f", "x"), ("f", "x"))
    mixed = Mixed()
    mixed["f", "x"] = 1
    assert mixed["f", "x"] == ("between", 1)
    pairs = utils.PairDict()
    for owner in (utils.PairDict, pairs):
        with mock.patch.object(owner, "_validate_key") as double:
            pairs["f", "x"] = 1
            assert pairs["f", "x"] == 1
        assert double.call_args_list == [mock.call(("f", "x"))] * 2


def test_it_is_patched():
    with peers.client_side("patched"):
        assert utils.PairDict.__setitem__.__module__ == "philote_mdo.utils.pair_dict"
        assert utils.PairDict.__setitem__.__code__.co_filename.endswith("patches/pair_dict.py")
