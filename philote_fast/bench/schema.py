"""The form of a record, told by the JSON Schema beside this file; and a check against it.

The check knows the words of JSON Schema that the schema uses, so that nobody needs a package to
compare two records. Tests hold it against the package ``jsonschema``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

NAME = "philote-fast/bench"
VERSION = 1

_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


@cache
def schema() -> dict[str, Any]:
    """Give the JSON Schema of a record."""
    text = (Path(__file__).parent / "schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def objection(document: Any) -> str | None:
    """Say why a document is no record of this version, or nothing if it is one.

    Parameters
    ----------
    document : object
        What a JSON file holds.
    """
    if not isinstance(document, dict) or document.get("schema") != NAME:
        return "is no record of philote-fast bench"
    version = document.get("version")
    if not _equal(version, VERSION):
        return f"is a record of version {version!r}; this philote-fast reads version {VERSION}"
    wrong = _wrong(document, schema(), "")
    return f"is a broken record: {wrong}" if wrong else None


def _wrong(value: Any, rule: dict[str, Any], place: str) -> str | None:
    """Name the first place where a value breaks a rule."""
    if "$ref" in rule:
        return _wrong(value, schema()["$defs"][rule["$ref"].rpartition("/")[2]], place)
    here = place or "the whole"
    if "const" in rule and not _equal(value, rule["const"]):
        return f"{here} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        return f"{here} is none of {', '.join(map(repr, rule['enum']))}"
    if "type" in rule and not _is(value, rule["type"]):
        return f"{here} is no {rule['type']}"
    if "minimum" in rule and value < rule["minimum"]:
        return f"{here} is less than {rule['minimum']}"
    if "exclusiveMinimum" in rule and value <= rule["exclusiveMinimum"]:
        return f"{here} is not more than {rule['exclusiveMinimum']}"
    if isinstance(value, list):
        return _wrong_in_list(value, rule, place)
    return _wrong_in_object(value, rule, place) if isinstance(value, dict) else None


def _equal(value: Any, other: Any) -> bool:
    # To Python True is 1, to JSON it is not.
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    # As JSON Schema has it, 1.0 is an integer.
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _wrong_in_list(values: list[Any], rule: dict[str, Any], place: str) -> str | None:
    if len(values) < rule.get("minItems", 0):
        return f"{place} has too few items"
    each = (
        _wrong(value, rule.get("items", {}), f"{place}[{index}]")
        for index, value in enumerate(values)
    )
    return next(filter(None, each), None)


def _wrong_in_object(values: dict[str, Any], rule: dict[str, Any], place: str) -> str | None:
    known = rule.get("properties", {})
    others = rule.get("additionalProperties", {})
    for name in rule.get("required", ()):
        if name not in values:
            return f"{place or 'the whole'} has no {name!r}"
    for name, value in values.items():
        inner = f"{place}.{name}" if place else name
        if name not in known and others is False:
            return f"{inner} is unknown"
        wrong = _wrong(value, known.get(name, others), inner)
        if wrong:
            return wrong
    return None
