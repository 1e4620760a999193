"""What an editor of a file format can do, and the check that it did exactly that.

Every edit is parsed again and compared with what was meant. An editor may therefore be simple: what it does not
understand ends as `CannotEdit`, never as a damaged file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

Table = Mapping[str, Any]
_WRITTEN_OTHERWISE = "its layout is not supported"


class CannotEdit(ValueError):  # noqa: N818 - reads as a sentence where it is raised
    """The text cannot be parsed, or not be changed without touching what is not ours."""


class Format(ABC):
    """A file format whose texts can be changed in place, so that comments, order and layout stay."""

    @abstractmethod
    def parse(self, text: str) -> dict[str, Any]:
        """The values in a text; they are shared, and nobody may change them. Raises CannotEdit."""

    @abstractmethod
    def put(self, text: str, patch: Table) -> str:
        """Set the values of `patch`, table by table, and leave all others."""

    @abstractmethod
    def drop(self, text: str, path: Sequence[str]) -> str:
        """Take out what is at `path`."""

    def merge(self, text: str, patch: Table) -> str:
        """The text with the values of `patch` in it; raises CannotEdit."""
        wanted = _merged(self.parse(text), patch)
        return self._checked(self.put(text, patch), wanted)

    def remove(self, text: str, path: Sequence[str]) -> str:
        """The text without what is at `path`; raises CannotEdit."""
        tables = self.parse(text)
        parent = value_at(tables, path[:-1])
        if parent is None or path[-1] not in parent:
            return text
        return self._checked(self.drop(text, path), _without(tables, path), ignoring_empty=path[:-1])

    def _checked(self, text: str, wanted: dict[str, Any], ignoring_empty: Sequence[str] = ()) -> str:
        try:
            found = self.parse(text)
        except CannotEdit:  # it speaks of lines that the user's file does not have
            raise CannotEdit(_WRITTEN_OTHERWISE) from None
        # In TOML a table is gone with the last one inside it.
        if ignoring_empty and value_at(found, ignoring_empty) is None and not value_at(wanted, ignoring_empty):
            wanted = {key: value for key, value in wanted.items() if key != ignoring_empty[0]}
        if found != wanted:
            raise CannotEdit(_WRITTEN_OTHERWISE)
        return text


def newline_of(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


def value_at(tables: Table, path: Sequence[str]) -> Any:
    """What is at `path`, or None."""
    found: Any = tables
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found


def _merged(tables: Table, patch: Table, where: str = "the file") -> dict[str, Any]:
    if not isinstance(tables, Mapping):
        raise CannotEdit(f"{where} does not contain named values")
    merged = dict(tables)
    for key, value in patch.items():
        nested = isinstance(value, Mapping)
        merged[key] = _merged(merged.get(key, {}), value, f"{key!r}") if nested else value
    return merged


def _without(tables: Table, path: Sequence[str]) -> dict[str, Any]:
    first, rest = path[0], path[1:]
    if rest:
        return {**tables, first: _without(tables[first], rest)}
    return {key: value for key, value in tables.items() if key != first}
