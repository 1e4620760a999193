"""JSON: values to bytes and back, whatever is in them."""

from __future__ import annotations

import threading
from typing import Any, NoReturn, TypeVar, cast

import msgspec

MAX_NESTING = 100
"""Levels of a tool call's arguments: whoever walks through them must not run out of stack. No tool needs a tenth."""

T = TypeVar("T")

_describing = threading.RLock()
"""msgspec finds out what a Struct is like when it first decodes into one. A thread that meets it meanwhile gets half
of that, and the program crashes."""


class JsonError(ValueError):
    """Bytes that are not the JSON that was expected."""


def decode_json(data: bytes | str, kind: type[T]) -> T:
    """The value that somebody else has written down; raises JsonError, whatever is wrong with it.

    Half of a surrogate pair is wrong, too; `json.loads` takes it, where `pi` may have cut a character in two or a path
    is no UTF-8.
    """
    try:
        return msgspec.json.decode(data, type=_described(kind))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise JsonError("nested too deeply" if isinstance(error, RecursionError) else str(error)) from error


def read_json(text: str | bytes) -> Any:
    """Any value, as a lenient reader takes it: half of a surrogate pair too; raises ValueError or RecursionError."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        import json  # what is hardly ever needed

        return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def converted(value: object, kind: type[T]) -> T:
    """Plain values as what they stand for; raises msgspec.ValidationError."""
    return msgspec.convert(value, _described(kind))


def _described(kind: type[T]) -> type[T]:
    """The kind itself, once msgspec knows all about it."""
    _decoder(kind)
    return kind


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    with _describing:
        return msgspec.json.Decoder(kind)


def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    """A decoder for many values of one kind. It is made when it is first used: for a large kind that takes a while."""
    return cast("msgspec.json.Decoder[Any]", _Decoder(kind))


class _Decoder:
    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        found = getattr(_decoder(self._kind), name)
        setattr(self, name, found)  # the next use does not come here
        return found


def encode_any(value: Any) -> bytes:
    """A value as JSON; what is not UTF-8 in a path or an argument is replaced, since JSON cannot say it."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(value)))


def json_facts(source: object, *names: str) -> dict[str, Any]:
    """Attributes under the names that they have in JSON: of `tool_count`, `toolCount`."""
    return {_camel(name): getattr(source, name) for name in names}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def is_encodable(value: Any) -> bool:
    """Whether JSON can say the value: half of a surrogate pair is no character."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, (list, tuple)) else value


def as_utf8(text: str) -> str:
    """The text with a `?` for what no file or pipe can hold: half of a surrogate pair, a byte of another encoding."""
    return text.encode("utf-8", "replace").decode()


def is_shallow(value: object) -> bool:
    """Whether JSON is nested no deeper than can be walked through anywhere."""
    level = [value]
    for _ in range(MAX_NESTING):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return True
    return False


def _inside(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def size_of(value: object) -> int:
    """How many bytes a value takes as JSON."""
    try:
        return len(msgspec.json.encode(value))
    except UnicodeEncodeError:  # half of a surrogate pair: it comes from no journal
        return len(repr(value))
