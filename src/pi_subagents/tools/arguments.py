"""The arguments of a call are typed structs: what a model is told of them, and what is checked, follow from these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from pi_subagents.errors import InvalidCall
from pi_subagents.text.suggestions import closest

T = TypeVar("T")

# Kept in this order, and short: every model that is offered a tool pays for its schema in every request.
_TOLD = ("type", "minLength", "minItems", "minimum", "maxItems", "maximum", "default", "description")
_STRUCTURE = ("properties", "items", "anyOf", "required", "additionalProperties")

_AT = re.compile(r"^(?P<rule>.*?)(?: - at `\$\.?(?P<field>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")


def input_schema(shape: type) -> dict[str, Any]:
    """The JSON Schema of `shape`. A field may be left out but not null, and one that nothing fits is not told of."""
    (schema,), structs = msgspec.json.schema_components([shape], ref_template="{name}")
    return _brief(schema, structs)


def _brief(schema: Any, structs: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        schema = {**structs[schema["$ref"]], "description": None}
    if {"type": "null"} in schema.get("anyOf", ()):
        (schema,) = (option for option in schema["anyOf"] if option != {"type": "null"})
        return _brief(schema, structs)
    brief = {**schema}
    if "properties" in schema:
        fields = schema["properties"].items()
        brief["properties"] = {name: _brief(field, structs) for name, field in fields if "not" not in field}
        brief["required"] = schema["required"] or None
    if "items" in schema:
        brief["items"] = _brief(schema["items"], structs)
    if "anyOf" in schema:
        brief["anyOf"] = [_brief(option, structs) for option in schema["anyOf"]]
    return {word: brief[word] for word in (*_TOLD, *_STRUCTURE) if brief.get(word) is not None}


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
