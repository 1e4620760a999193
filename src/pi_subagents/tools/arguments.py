"""The arguments of a call are typed structs: what a model is told of them, and what is checked, follow from these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from pi_subagents.errors import InvalidCall
from pi_subagents.text.suggestions import closest

T = TypeVar("T")

_IN_ORDER = ("type", "minLength", "minItems", "minimum", "maxItems", "maximum", "default", "description")
"""Limits before words; what structures a schema comes after these as it is."""

_AT = re.compile(r"^(?P<rule>.*?)(?: - at `\$\.?(?P<field>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")


def input_schema(shape: type) -> dict[str, Any]:
    """The JSON Schema of `shape`, kept short: every model that is offered the tool pays for it in every request.

    A field may be left out but is not said to be null, and a field that nothing fits is not told of.
    """
    (schema,), structs = msgspec.json.schema_components([shape], ref_template="{name}")
    return _brief(schema, structs)


def _brief(schema: Any, structs: Mapping[str, Any]) -> dict[str, Any]:
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return _brief(options[0], structs)
    if options:
        return {"anyOf": [_brief(option, structs) for option in options]}
    if "$ref" in schema:
        return _brief_object(structs[schema["$ref"]], structs)
    brief = {word: schema[word] for word in sorted(schema, key=_place)}
    return {**brief, "items": _brief(schema["items"], structs)} if "items" in schema else brief


def _brief_object(schema: Any, structs: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: field for name, field in schema["properties"].items() if "not" not in field}
    return {
        "type": "object",
        "properties": {name: _brief(field, structs) for name, field in fields.items()},
        **({"required": schema["required"]} if schema["required"] else {}),
        "additionalProperties": schema.get("additionalProperties", True),
    }


def _place(word: str) -> int:
    return _IN_ORDER.index(word) if word in _IN_ORDER else len(_IN_ORDER)


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
