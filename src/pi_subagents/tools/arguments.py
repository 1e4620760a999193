"""Checks the arguments of a call against typed structs; every complaint names the field and the rule."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from pi_subagents.errors import InvalidCall
from pi_subagents.text.suggestions import closest

T = TypeVar("T")

_AT = re.compile(r"^(?P<rule>.*?)(?: - at `\$\.?(?P<field>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")


def check_arguments(arguments: object, shape: type[T]) -> T:
    """`arguments` as `shape`; raises InvalidCall with one sentence per call."""
    try:
        return msgspec.convert(arguments, shape)
    except msgspec.ValidationError as error:
        raise InvalidCall(_explain(str(error), shape)) from None


def _explain(message: str, shape: Any) -> str:
    match = _AT.match(message)
    assert match is not None
    rule, field = match["rule"], match["field"] or ""
    if missing := _MISSING.match(rule):
        return f"Invalid arguments: {_join(field, missing['name'])} is required"
    if unknown := _UNKNOWN.match(rule):
        elsewhere = [name for name in _field_names(shape) if name != unknown["name"]]
        meant = closest(unknown["name"], elsewhere)
        suffix = f'; did you mean "{meant}"?' if meant else ""
        return f"Invalid arguments: {_join(field, unknown['name'])} is not a known field{suffix}"
    rule = rule[:1].lower() + rule[1:]
    return f"Invalid arguments: {field or 'the arguments'}: {rule.replace('`', '')}"


def _join(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def _field_names(shape: Any) -> list[str]:
    """Every field name of a struct and of the structs inside it, for hints."""
    names: list[str] = []
    for info in msgspec.inspect.multi_type_info([shape]):
        names += _names_in(info)
    return names


def _names_in(info: Any) -> list[str]:
    if isinstance(info, msgspec.inspect.StructType):
        names = [field.encode_name for field in info.fields]
        return names + [name for field in info.fields for name in _names_in(field.type)]
    if isinstance(info, msgspec.inspect.UnionType):
        return [name for member in info.types for name in _names_in(member)]
    inner = getattr(info, "item_type", None)
    return [] if inner is None else _names_in(inner)
