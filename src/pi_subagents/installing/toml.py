"""Changes TOML texts, one table at a time.

Only tables with a header of their own are changed, as all programs write them; whatever is written in another way
fails the check that follows every edit.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pi_subagents.installing.formats import CannotEdit, Format, Table, newline_of

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|[\[\]{}\n]"
    r"|[^\"'\#\[\]{}\n]+"
    r"|.",
    re.DOTALL,
)

_SOLID = ("header", "value")
_MANY_NAMES = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One logical line, with its line break, and the table it stands in."""

    end: int
    kind: Literal["header", "value", "blank", "comment"]
    table: tuple[str, ...]
    text: str


class Toml(Format):
    """TOML as codex reads and writes it."""

    def parse(self, text: str) -> dict[str, Any]:
        """The values in a text. They are shared: nobody may change them."""
        return _document(text)

    def put(self, text: str, patch: Table) -> str:
        """Set values: what is there is replaced where it stands, a new table comes at the end."""
        return _put(text, (), patch)

    def drop(self, text: str, path: Sequence[str]) -> str:
        """Take out a table and those below it; comments that follow them stay."""
        statements = list(_statements(text))
        doomed = {index for index, one in enumerate(statements) if _is_below(one, path) and one.kind in _SOLID}
        if not doomed:
            return text
        before = min(doomed) - 1
        keep: list[str] = []
        next_solid = len(statements)
        for index, one in reversed(list(enumerate(statements))):
            next_solid = index if one.kind in _SOLID else next_solid
            goes = one.kind == "blank" if index == before else _is_below(one, path) and next_solid in doomed
            if not goes:
                keep.append(one.text)
        return "".join(reversed(keep))


@lru_cache(maxsize=4)
def _document(text: str) -> dict[str, Any]:
    # The text before and that after an edit are asked for several times.
    return _loads(text.removeprefix("\ufeff"))


def _loads(text: str) -> dict[str, Any]:
    # The parser takes time that grows with the square of how many names a key is made of.
    if _MANY_NAMES.search(text):
        raise CannotEdit("its values are nested too deeply")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(str(error)) from None
    except RecursionError:
        raise CannotEdit("its values are nested too deeply") from None
    except ValueError:
        raise CannotEdit("a number in it has too many digits") from None


def _is_below(statement: _Statement, path: Sequence[str]) -> bool:
    return statement.table[: len(path)] == tuple(path)


def _put(text: str, table: tuple[str, ...], patch: Table) -> str:
    values = {key: value for key, value in patch.items() if not isinstance(value, Mapping)}
    if values:
        text = _set_values(text, table, values) if _has_header(text, table) else _add_table(text, table, values)
    for key, value in patch.items():
        if isinstance(value, Mapping):
            text = _put(text, (*table, key), value)
    return text


def _has_header(text: str, table: tuple[str, ...]) -> bool:
    return any(one.kind == "header" and one.table == table for one in _statements(text))


def _set_values(text: str, table: tuple[str, ...], values: Table) -> str:
    statements = list(_statements(text))
    texts = [one.text for one in statements]
    own = [index for index, one in enumerate(statements) if one.table == table and one.kind in _SOLID]
    there = {index: _loads(texts[index]) for index in own if statements[index].kind == "value"}
    places = {key: index for index, found in reversed(there.items()) for key in found}
    added = ""
    for key, value in values.items():
        written = f"{_key(key)} = {_value(value)}{newline_of(text)}"
        if key not in places:
            added += written
        elif there[places[key]] != {key: value}:
            texts[places[key]] = written
    if added:
        texts[own[-1]] = _ended(texts[own[-1]], text) + added
    return "".join(texts)


def _add_table(text: str, table: tuple[str, ...], values: Table) -> str:
    newline = newline_of(text)
    lines = [f"[{'.'.join(map(_key, table))}]", *(f"{_key(key)} = {_value(value)}" for key, value in values.items())]
    block = "".join(line + newline for line in lines)
    parent = [one for one in _statements(text) if one.table == table[:-1] and one.kind in _SOLID]
    at = parent[-1].end if len(table) > 1 and _has_header(text, table[:-1]) else len(text)
    head = _ended(text[:at], text)
    return head + (newline if head.strip("\ufeff") else "") + block + text[at:]


def _ended(head: str, text: str) -> str:
    return head if not head.strip("\ufeff") or head.endswith("\n") else head + newline_of(text)


def _statements(text: str) -> Iterator[_Statement]:
    table: tuple[str, ...] = ()
    start = len(text) - len(text.removeprefix("\ufeff"))
    if start:
        yield _Statement(start, "comment", table, text[:start])
    for end in _line_ends(text):
        line = text[start:end]
        kind = _kind(line)
        if kind == "header":
            table = _path(line)
        yield _Statement(end, kind, table, line)
        start = end


def _line_ends(text: str) -> Iterator[int]:
    """Where logical lines end: at line breaks that are in no string, array or inline table."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        if token[0] == "\n" and depth == 0:
            yield token.end()
    if text and not text.endswith("\n"):
        yield len(text)


def _kind(line: str) -> Literal["header", "value", "blank", "comment"]:
    line = line.strip()
    if not line:
        return "blank"
    if line.startswith("#"):
        return "comment"
    return "header" if line.startswith("[") else "value"


def _path(header: str) -> tuple[str, ...]:
    path: list[str] = []
    found: Any = _loads(header)
    while found:
        if isinstance(found, list):
            (found,) = found
        else:
            ((key, found),) = found.items()
            path.append(key)
    return tuple(path)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)
