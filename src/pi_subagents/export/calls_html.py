"""Tool calls on the page: a line each, with arguments and result folded away below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from pi_subagents.export.arguments import Block, argument_blocks
from pi_subagents.export.entries import Called, Returned
from pi_subagents.export.prose import verbatim_html
from pi_subagents.export.remarks import call_remarks
from pi_subagents.text import Style, style_tool_line

_CLASSES = {Style.MUTED: "", Style.ADDED: "added", Style.REMOVED: "removed"}
_BLOCK_CLASSES = {"oldText": "removed", "newText": "added"}


def calls_html(calls: Iterable[tuple[Called | None, Returned | None]]) -> Iterator[str]:
    """Calls that follow each other, each with the result that answers it, piece by piece."""
    yield '<div class="calls">\n'
    for call, result in calls:
        yield _call(call, result)
    yield "</div>\n"


def _call(call: Called | None, result: Returned | None) -> str:
    failed = ' class="failed"' if result and result.is_error else ""
    side = f'<span class="side">{escape(" · ".join(call_remarks(call, result)))}</span>'
    inside = "".join([*map(_block, argument_blocks(call.arguments) if call else ()), *_result(result)])
    return (
        f"<details{failed}><summary><code>{_line(call, result)}</code>{side}</summary>"
        f'<div class="inside">{inside}</div></details>\n'
    )


def _line(call: Called | None, result: Returned | None) -> str:
    if call is None:
        return escape(result.name if result else "")
    pieces = []
    for style, text in style_tool_line(f"→ {call.preview}"):
        kind = _CLASSES.get(style, "")
        pieces.append(f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text))
    return "".join(pieces)


def _block(block: Block) -> str:
    label = f'<span class="label">{escape(block.label)}</span>' if block.label else ""
    return label + verbatim_html(block.text, _BLOCK_CLASSES.get(block.label.rpartition(".")[2], ""))


def _result(result: Returned | None) -> Iterator[str]:
    if result is not None:
        yield '<span class="label">Result</span>'
        yield verbatim_html(result.text) if result.text.strip() else verbatim_html("(empty)", "muted")
