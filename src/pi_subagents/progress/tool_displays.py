"""How calls and results of our own tools look to people: shorter than what the model gets."""

from __future__ import annotations

from collections.abc import Mapping

from pi_subagents.progress.arguments import Arguments, one_line, unique
from pi_subagents.text import counted
from pi_subagents.text.harmless import clean
from pi_subagents.text.segments import Line, Style


def call_segments(arguments: Mapping[str, object]) -> Line:
    """`delegate_to_subagents 3 sub-agents (default profile: researcher) profiles: [writer, researcher]`.

    Arguments may be missing or still arriving: what is not there is not shown.
    """
    values = Arguments(arguments)
    tasks = values.items("tasks") or []
    line: Line = [(Style.TITLE, "delegate_to_subagents"), (Style.TEXT, f" {counted(len(tasks), 'sub-agent')}")]
    if default := values.text("profile"):
        line.append((Style.MUTED, f" (default profile: {default})"))
    named = (one_line(task.get("profile")) for task in tasks if isinstance(task, Mapping))
    if profiles := unique(profile for profile in named if profile):
        line.append((Style.MUTED, f" profiles: [{', '.join(profiles)}]"))
    return line


def excerpt_segments(text: str, max_lines: int) -> list[Line]:
    """The first `max_lines` lines of a result and, if there are more, how many: `... (47 more lines)`."""
    most = max(max_lines, 0)
    lines = clean(text, keep_newlines=True).split("\n", most)
    shown: list[Line] = [[(Style.TEXT, line)] for line in lines[:most]]
    if rest := lines[most:]:
        shown.append([(Style.MUTED, f"... ({counted(rest[0].count(chr(10)) + 1, 'more line')})")])
    return shown
