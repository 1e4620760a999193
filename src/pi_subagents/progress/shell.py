"""Shell commands as people read them: without a redundant `cd`, with short paths, split at `&&` where they are long."""

from __future__ import annotations

import re
from collections import deque

from pi_subagents.progress.arguments import bounded
from pi_subagents.text.cells import ELLIPSIS, cell_width, clip
from pi_subagents.text.harmless import clean
from pi_subagents.text.locations import same_directory, shorten_path

MAX_COMMAND_LINES = 4
"""One long command must not push everything else out of a window of fifteen lines."""
CONTINUATION = "│ "

_CD = re.compile(r"""\s*cd\s+(?:"([^"]*)"|'([^']*)'|([^\s;&|<>()"'`$\\]+))[^\S\n]*(?:&&|;|\n)\s*""")
_LONE_CD = re.compile(r"""cd\s+(?:"([^"]*)"|'([^']*)'|([^\s;&|<>()"'`$\\]+))\s*;?""")
_MOVES = re.compile(r"(?<![\w./-])(?:cd|pushd|popd)(?![\w./-])")
_PATH = re.compile(r"""(?<![^\s'"=(<>:,])/(?!/)[^\s'"`;&|<>()$\\:,]*(?![^\s'"`;&|<>():,])""")
_TOKEN = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*"|`[^`]*`|&&|[()]""", re.DOTALL)


def first_line(command: str, *, cwd: str | None = None, home: str | None = None) -> str:
    """The command's first line without redundant `cd`s, with `…` if more follows; empty for a blank one."""
    text = _drop_cd(clean(bounded(command), keep_newlines=True).strip(), cwd, home)
    lines = deque(line for each in text.split("\n") if (line := each.strip()))
    first = lines.popleft() if lines else ""
    while lines and (first.endswith(("&&", "\\")) or lines[0].startswith("&&")):
        first = " ".join((first.removesuffix("\\").rstrip(), lines.popleft()))
    first = _shorten_paths(first, cwd, home)
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


def _shorten_paths(command: str, cwd: str | None, home: str | None) -> str:
    """Absolute paths as they are seen from where the command stands; beyond a `cd` that is somewhere else."""
    if cwd and (lone := _LONE_CD.fullmatch(command)):
        target = next(group for group in lone.groups() if group is not None)
        return "cd ." if same_directory(target, cwd, home) else command
    moves = _MOVES.search(command)
    here = len(command) if moves is None else moves.start()
    return _PATH.sub(lambda path: shorten_path(path[0], cwd=cwd, home=home), command[:here]) + command[here:]


def _drop_cd(command: str, cwd: str | None, home: str | None) -> str:
    while cwd and (found := _CD.match(command)):
        target = next(group for group in found.groups() if group is not None)
        rest = command[found.end() :]
        if not rest or not same_directory(target, cwd, home):
            break
        command = rest
    return command
