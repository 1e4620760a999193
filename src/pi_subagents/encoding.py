"""JSON: values to bytes and back, whatever is in them, and a stream of bytes to records within a fixed memory.

Only LF ends a record (U+2028 and friends are legal inside JSON strings), and bytes are never decoded while they are
split, so a record that is cut inside a multi-byte character arrives whole. A record beyond the limit is dropped while
it streams in; its first bytes are kept so that a reader can still say what it was.

msgspec is imported by the functions that need it: the bridge frames its first message, and answers it, without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

MAX_RECORD_BYTES = 32 * 1024 * 1024
"""A conversation of many large tool results repeated in one `agent_end` stays below this."""

MAX_NESTING = 100
"""Levels of a tool call's arguments: whoever walks through them must not run out of stack. No tool needs a tenth."""

_HEAD_BYTES = 256

T = TypeVar("T")


class JsonError(ValueError):
    """Bytes that are not the JSON that was expected."""


def decode_json(data: bytes | str, kind: type[T]) -> T:
    """The value that somebody else has written down; raises JsonError, whatever is wrong with it.

    Half of a surrogate pair is wrong, too; `json.loads` takes it, where `pi` may have cut a character in two or a path
    is no UTF-8.
    """
    import msgspec

    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise JsonError("nested too deeply" if isinstance(error, RecursionError) else str(error)) from error


def encode_any(value: Any) -> bytes:
    """A value as JSON; what is not UTF-8 in a path or an argument is replaced, since JSON cannot say it."""
    import msgspec

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
    import msgspec

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
    import msgspec

    try:
        return len(msgspec.json.encode(value))
    except UnicodeEncodeError:  # half of a surrogate pair: it comes from no journal
        return len(repr(value))


# --- a stream of records ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Oversized:
    """A record that was dropped because it exceeded the limit."""

    size: int
    head: bytes


Frame = bytes | Oversized


class Framer:
    """Turns chunks into frames; `feed` with every chunk, `finish` once at the end of the stream."""

    def __init__(self, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self._max = max_record_bytes
        # One buffer, not a list of chunks: an agent may write a record byte by byte.
        self._held = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yield every record that `chunk` completes, without its line ending; blank records are skipped."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            yield from self._complete(chunk[start:end])
            start = end + 1
        self._hold(chunk[start:])

    def finish(self) -> Iterator[Frame]:
        """Yield what is left over when the stream ends without a final line ending."""
        yield from self._complete(b"")

    def _hold(self, part: bytes) -> None:
        """Keep a part of a record; of one that has become too large, only its beginning."""
        if self._size <= self._max:
            self._held += part
        self._size += len(part)
        if self._size > self._max:
            del self._held[min(_HEAD_BYTES, self._max) :]

    def _complete(self, last: bytes) -> Iterator[Frame]:
        if not self._size and len(last) <= self._max:
            record: Frame = last
        else:
            self._hold(last)
            record = bytes(self._held) if self._size <= self._max else Oversized(self._size, bytes(self._held))
            self._held.clear()
            self._size = 0
        if isinstance(record, Oversized) or (record := record.removesuffix(b"\r")).strip():
            yield record
