"""Values for a line, from a tool call's arguments: any key may be missing, of the wrong type, or huge.

Shell commands lose a redundant `cd`, have short paths, and are split at `&&` where they are long.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.text import cell_width, clean, clip, shorten_path
from pi_subagents.text.cells import ELLIPSIS
from pi_subagents.text.patterns import pattern
from pi_subagents.text.wording import same_directory

if TYPE_CHECKING:
    from json import JSONEncoder

MAX_VALUE_CHARS = 4096
"""More than any line shows; longer values are cut before they are looked at closely."""
_MAX_NUMBER = 10**12
"""Beyond any line of any file, so it is no line number."""
MAX_COMMAND_LINES = 4
"""One long command must not push everything else out of a window of fifteen lines."""
CONTINUATION = "│ "

_CD = pattern(r"""\s*cd\s+(?:"([^"]*)"|'([^']*)'|([^\s;&|<>()"'`$\\]+))[^\S\n]*(?:&&|;|\n)\s*""")
_LONE_CD = pattern(r"""cd\s+(?:"([^"]*)"|'([^']*)'|([^\s;&|<>()"'`$\\]+))\s*;?""")
_MOVES = pattern(r"(?<![\w./-])(?:cd|pushd|popd)(?![\w./-])")
_PATH = pattern(r"""(?<![^\s'"=(<>:,])/(?!/)[^\s'"`;&|<>()$\\:,]*(?![^\s'"`;&|<>():,])""")
_TOKEN = pattern(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|`[^`]*`|&&|[()]""", re.DOTALL)


class Arguments(msgspec.Struct, frozen=True):
    """What a tool was called with, and where the agent stands."""

    values: Mapping[str, object]
    cwd: str | None = None

    def text(self, *keys: str) -> str | None:
        """The first of `keys` that holds text worth showing, on one line."""
        return next((text for key in keys if (text := text_of(self.values.get(key)))), None)

    def path(self, *keys: str) -> str | None:
        """The first of `keys` that holds a path, in its shortest form."""
        text = self.text(*keys)
        return None if text is None else shorten_path(text, cwd=self.cwd, home=_home())

    def number(self, *keys: str) -> int | None:
        """The first of `keys` that holds a whole number from zero up."""
        return next((n for key in keys if (n := _whole_number(self.values.get(key))) is not None), None)

    def items(self, key: str) -> list[object] | None:
        """The list under `key`."""
        value = self.values.get(key)
        return list(value) if isinstance(value, (list, tuple)) else None

    def texts(self, key: str) -> list[str]:
        """The texts in the list under `key`; a single text counts as a list of one."""
        value = self.values.get(key)
        values = [value] if isinstance(value, str) else self.items(key) or []
        return [text for item in values if (text := text_of(item))]

    def paths(self, key: str) -> list[str]:
        """The paths in the list under `key`, each in its shortest form."""
        return [shorten_path(text, cwd=self.cwd, home=_home()) for text in self.texts(key)]


def _home() -> str | None:
    return os.environ.get("HOME")


def text_of(value: object) -> str | None:
    """A text value, safe to print and on one line; None for anything else and for blanks."""
    if not isinstance(value, str):
        return None
    text = bounded(value)
    return clean(text).strip() or None


def bounded(text: str) -> str:
    """The text itself unless it is longer than any line."""
    return text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + ELLIPSIS


@cache
def _encoder() -> JSONEncoder:
    from json import JSONEncoder  # few tools have arguments that are shown as they are

    return JSONEncoder(ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=lambda value: "?")


def compact_json(value: object, max_chars: int) -> str:
    """A value as JSON without spaces, not much longer than `max_chars`; empty if it cannot be written."""
    pieces: list[str] = []
    size = 0
    try:
        for piece in _encoder().iterencode(_cut_texts(value)):
            pieces.append(piece)
            size += len(piece)
            if size > max_chars:
                break
    except (ValueError, RecursionError):
        return ""
    return clean("".join(pieces))


def parse_json(text: str) -> object:
    """The value a JSON text stands for, None if it is no JSON."""
    try:
        return decode_json(text, object)
    except JsonError:
        return None


def _cut_texts(value: object) -> object:
    """Cuts the long texts at the top level, where files and prompts are."""
    if isinstance(value, Mapping):
        return {key: bounded(item) if isinstance(item, str) else item for key, item in value.items()}
    return bounded(value) if isinstance(value, str) else value


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < _MAX_NUMBER and value == value // 1 else None


def first_line(command: str, *, cwd: str | None = None) -> str:
    """The command's first line without redundant `cd`s, with `…` if more follows; empty for a blank one."""
    text = _drop_cd(clean(bounded(command), keep_newlines=True).strip(), cwd)
    lines = deque(line for each in text.split("\n") if (line := each.strip()))
    first = lines.popleft() if lines else ""
    while lines and (first.endswith(("&&", "\\")) or lines[0].startswith("&&")):
        first = " ".join((first.removesuffix("\\").rstrip(), lines.popleft()))
    first = _shorten_paths(first, cwd)
    return f"{first} {ELLIPSIS}" if lines else first


def layout(command: str, *, head: str, width: int) -> list[str]:
    """A one-line command in lines of at most `width` cells: the first after `head`, the others after `│ `."""
    rooms = (width - cell_width(head), width - cell_width(CONTINUATION))
    if cell_width(command) <= rooms[0]:
        return [head + command]
    lines = _fill(split_chain(command), rooms)
    if len(lines) > MAX_COMMAND_LINES:
        del lines[MAX_COMMAND_LINES:]
        lines[-1] = clip(lines[-1], rooms[1] - 2) + f" {ELLIPSIS}"
    return [clip((CONTINUATION if index else head) + line, width) for index, line in enumerate(lines)]


def split_chain(command: str) -> list[str]:
    """The parts between the `&&`s that stand outside of quotes and parentheses."""
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(command):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth = max(depth - 1, 0)
        elif token[0] == "&&" and depth == 0:
            parts.append(command[start : token.start()].strip())
            start = token.end()
    return [*parts, command[start:].strip()]


def _fill(parts: list[str], rooms: tuple[int, int]) -> list[str]:
    lines = [parts[0]]
    for part in parts[1:]:
        joined = f"{lines[-1]} && {part}"
        if cell_width(joined) <= rooms[len(lines) > 1]:
            lines[-1] = joined
        else:
            lines.append(f"&& {part}")
    return lines


def _shorten_paths(command: str, cwd: str | None) -> str:
    """Absolute paths as they are seen from where the command stands; beyond a `cd` that is somewhere else."""
    if cwd and (lone := _LONE_CD.fullmatch(command)):
        target = next(group for group in lone.groups() if group is not None)
        return "cd ." if same_directory(target, cwd, _home()) else command
    moves = _MOVES.search(command)
    here = len(command) if moves is None else moves.start()
    return _PATH.sub(lambda path: shorten_path(path[0], cwd=cwd, home=_home()), command[:here]) + command[here:]


def _drop_cd(command: str, cwd: str | None) -> str:
    while cwd and (found := _CD.match(command)):
        target = next(group for group in found.groups() if group is not None)
        rest = command[found.end() :]
        if not rest or not same_directory(target, cwd, _home()):
            break
        command = rest
    return command
