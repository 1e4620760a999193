"""What is said beside a tool call: how it went, how much came back, how long it took."""

from __future__ import annotations

from collections.abc import Iterator

from pi_subagents.export.entries import Called, Returned
from pi_subagents.progress import summarise_tool_result
from pi_subagents.text import counted, duration

_WORTH_TELLING_MS = 100


def call_remarks(call: Called | None, result: Returned | None) -> Iterator[str]:
    """`failed`, `3 files, 1 dir`, `12 lines`, `4.2s`, as far as there is something to say."""
    if result is None:
        yield "no result"
        return
    if result.is_error:
        yield "failed"
    elif summary := summarise_tool_result(result.name, result.text):
        yield summary
    elif result.text.strip():
        yield counted(result.text.strip("\n").count("\n") + 1, "line")
    if call and result.at - call.at >= _WORTH_TELLING_MS:
        yield duration((result.at - call.at) / 1000)
