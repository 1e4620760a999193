"""Reads and writes parts of claude's records: message blocks, usage, diffs, control requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from pi_subagents.encoding import is_shallow
from pi_subagents.harness.claude.launch import TOOLS
from pi_subagents.harness.frames import figure_in, items_in, text_in, tool_call
from pi_subagents.models import event as ev
from pi_subagents.models.gathered import WRITING_TOOLS
from pi_subagents.models.run import Usage
from pi_subagents.redaction import MARK


def our_name(tool: str) -> str:
    return TOOLS[tool].name if tool in TOOLS else tool


def parts_in(message: dict[str, Any]) -> Iterator[ev.Part]:
    for item in items_in(message.get("content")):
        match item:
            case {"type": "text", "text": str(text)}:
                yield ev.TextPart(text)
            case {"type": "thinking", "thinking": str(text)} if text:
                yield ev.ThinkingPart(text)
            case {"type": "tool_use", "name": str(name)}:
                yield tool_call(str(item.get("id")), name, item.get("input"), TOOLS)


def is_untouched(arguments: dict[str, Any]) -> bool:
    """Whether arguments are as claude sent them: no secret was taken out of them, and no invalid character."""
    if not is_shallow(arguments):  # too deep to look through
        return False
    words = msgspec.json.encode(arguments).decode()
    return MARK not in words and "\N{REPLACEMENT CHARACTER}" not in words


def doing(message: dict[str, Any]) -> str:
    """What claude's own sub-agent last said or did, in a line."""
    said = ""
    for part in parts_in(message):
        if isinstance(part, ev.TextPart | ev.ToolCallPart):
            said = part.text if isinstance(part, ev.TextPart) else part.name
    return said


def files_written(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The calls that write a file, with its path."""
    for part in parts_in(message):
        path = part.arguments.get("path") if isinstance(part, ev.ToolCallPart) and part.name in WRITING_TOOLS else None
        if isinstance(part, ev.ToolCallPart) and isinstance(path, str):
            yield part.id, path


def usage_in(figures: dict[str, Any]) -> Usage:
    cached = figure_in(figures.get("cache_read_input_tokens")) or 0
    written = figure_in(figures.get("cache_creation_input_tokens")) or 0
    read, said = figure_in(figures.get("input_tokens")) or 0, figure_in(figures.get("output_tokens")) or 0
    return Usage.of(read, said, cached, written, read + said + cached + written, 0)


def model_usage(model: dict[str, Any]) -> Usage:
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    tokens = [figure_in(model.get(name)) or 0 for name in names]
    return Usage.of(*tokens, sum(tokens), figure_in(model.get("costUSD")) or 0)


def result_text(content: Any) -> str:
    """The text of a tool's result, without the tags that tell claude's model that it is an error."""
    if not isinstance(content, str):
        content = "\n".join(text for item in items_in(content) if (text := text_in(item.get("text"))))
    return str(content).removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")


def file_changed(result: dict[str, Any], call_id: str, at: int) -> ev.FileChanged | None:
    """The file that a writing tool reports as changed."""
    path, hunks = text_in(result.get("filePath")), result.get("structuredPatch")
    if path is None or not isinstance(hunks, list):
        return None
    is_new = result.get("originalFile") is None and not hunks
    lines = list(_new_file(text_in(result.get("content")) or "")) if is_new else list(_hunks(items_in(hunks)))
    old = "/dev/null" if is_new else path
    diff = "\n".join((f"--- {old}", f"+++ {path}", *lines, "")) if lines else ""
    return ev.FileChanged(at=at, path=path, diff=diff, tool_call_id=call_id)


def _new_file(content: str) -> Iterator[str]:
    lines = content.splitlines()
    yield f"@@ -0,0 +1,{len(lines)} @@"
    yield from (f"+{line}" for line in lines)


def _hunks(hunks: list[dict[str, Any]]) -> Iterator[str]:
    for hunk in hunks:
        old, new = (f"{hunk.get(f'{side}Start')},{hunk.get(f'{side}Lines')}" for side in ("old", "new"))
        yield f"@@ -{old} +{new} @@"
        yield from filter(None, map(text_in, hunk["lines"] if isinstance(hunk.get("lines"), list) else []))


def complaint(record: dict[str, Any]) -> str:
    errors = record.get("errors")
    told = [text for text in errors if isinstance(text, str)] if isinstance(errors, list) else []
    return text_in(record.get("result")) or "\n".join(told) or f"claude ended with {record.get('subtype')}"


def error_message(message: str, at: int, stop_reason: str) -> ev.Message:
    return ev.Message(at=at, role="assistant", stop_reason=stop_reason, error_message=message)


def control_request(request_id: str, **request: Any) -> bytes:
    return msgspec.json.encode({"type": "control_request", "request_id": request_id, "request": request}) + b"\n"


def control_response(request_id: str, **response: Any) -> bytes:
    answer = {"request_id": request_id, **response}
    return msgspec.json.encode({"type": "control_response", "response": answer}) + b"\n"
