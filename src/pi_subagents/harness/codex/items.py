"""Reads parts of codex's records: items that are tool calls, raw calls, errors and usage."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from pi_subagents.harness.frames import ToolName, figure_in, items_in, object_in, read_object, text_in, tool_call
from pi_subagents.models import event as ev
from pi_subagents.models.run import Usage
from pi_subagents.text.patterns import pattern

Record = dict[str, Any]

TOOLS = {
    "commandExecution": ToolName("bash"),
    "exec_command": ToolName("bash", {"cmd": "command"}),
    "apply_patch": ToolName("edit"),
    "exec": ToolName("codemode", {"input": "code"}),
    "imageView": ToolName("view_image"),
    "webSearch": ToolName("web_search"),
    "imageGeneration": ToolName("image_generation", {"revisedPrompt": "prompt"}),
}
WAITING = ("wait", "write_stdin")
"""Tools that wait for an earlier call. Many identical calls of these are no loop."""
_ARGUMENTS = {
    "webSearch": ("query",),
    "imageView": ("path",),
    "imageGeneration": ("revisedPrompt",),
    "collabAgentToolCall": ("prompt", "receiverThreadIds"),
    "sleep": ("durationMs",),
}
"""For items without an object of arguments: the fields that count as arguments."""
_MAX_COMMAND = 64 * 1024
_SHELL = pattern(r"\S+ -l?c ")
_PATCHED = pattern(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_FAILED = pattern(
    r"\A\W*(?:unsupported|failed|script failed|error|aborted|rejected)|Process exited with code [1-9]", re.IGNORECASE
)
_HEAD = 1000


def call_in(item: Record) -> ev.ToolCallPart | None:
    """The tool call that an item stands for; None if it is no call, or only waits for another."""
    kind, tool = str(item.get("type")), text_in(item.get("tool")) or ""
    name, arguments = kind, {key: item[key] for key in _ARGUMENTS.get(kind, ()) if item.get(key)}
    match kind:
        case "commandExecution":
            arguments = {"command": script_in(item)}
        case "fileChange":
            changes = items_in(item.get("changes"))
            name = "write" if changes and all(_kind(change) == "add" for change in changes) else "edit"
            diffs = "\n".join(text_in(change.get("diff")) or "" for change in changes)
            path = next((change.get("path") for change in changes), "")
            arguments = {"path": path, "content" if name == "write" else "diff": diffs}
        case "mcpToolCall" | "dynamicToolCall":
            server = text_in(item.get("server"))
            name, arguments = f"mcp__{server}__{tool}" if server else tool, object_in(item.get("arguments"))
        case "collabAgentToolCall" if tool not in WAITING:
            name = tool
        case _ if kind not in _ARGUMENTS or tool in WAITING:
            return None
    return tool_call(str(item.get("id")), name, arguments, TOOLS)


def has_own_arguments(item: Record) -> bool:
    """Whether an item has its arguments from the start, even if there are none."""
    return str(item.get("type")) not in _ARGUMENTS


def raw_call(item: Record) -> ev.ToolCallPart:
    """A call as the model made it; for a patch, with the path of its file."""
    arguments: Record | None = {"input": patch} if (patch := text_in(item.get("input"))) is not None else None
    if patch and (found := _PATCHED.search(patch)):
        arguments = {"path": found[1], "input": patch}
    if arguments is None:
        arguments, _ = read_object((text_in(item.get("arguments")) or "").encode("utf-8", "replace"), 0)
    return tool_call(str(item.get("call_id")), text_in(item.get("name")) or "", arguments, TOOLS)


def output_in(item: Record) -> str:
    """The output of a raw call, as the model gets it."""
    output = item.get("output")
    return output if isinstance(output, str) else _texts(items_in(output))


def has_failed(call: ev.ToolCallPart, output: str) -> bool:
    """Whether a raw call failed; a command or patch without an item always did."""
    return call.name in ("bash", "edit") or _FAILED.search(output[:_HEAD]) is not None


def script_in(record: Record) -> str:
    """The script without the shell around it: `ls` for `/bin/bash -lc 'ls'`."""
    command = text_in(record.get("command")) or ""
    if len(command) > _MAX_COMMAND or not _SHELL.match(command):
        return command
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 else command


def _kind(change: Record) -> str:
    return text_in(object_in(change.get("kind")).get("type")) or ""


def changes_in(item: Record, at: int) -> Iterator[ev.FileChanged]:
    """The files that an item changed; for new and deleted files codex reports the content, not a diff."""
    for change in items_in(item.get("changes")):
        diff = text_in(change.get("diff")) or ""
        if sign := {"add": "+", "delete": "-"}.get(_kind(change)):
            diff = "".join(f"{sign}{line}\n" for line in diff.splitlines())
        path = text_in(change.get("path")) or ""
        yield ev.FileChanged(at=at, path=path, diff=diff, tool_call_id=str(item.get("id")))


def result_in(item: Record) -> str:
    """The result of a tool, as text."""
    match item.get("type"):
        case "commandExecution" if item.get("status") == "declined":
            return "The command was not allowed."
        case "commandExecution":
            output, code = text_in(item.get("aggregatedOutput")) or "", item.get("exitCode")
            return f"{output}\n\nCommand exited with code {code}" if code else output
        case "fileChange":
            changes = items_in(item.get("changes"))
            return "\n".join(f"{item.get('status')}: {_kind(change)} {change.get('path')}" for change in changes)
        case "collabAgentToolCall":
            states = map(object_in, object_in(item.get("agentsStates")).values())
            return "\n".join(f"{state.get('status')}: {text_in(state.get('message')) or ''}" for state in states)
    error = {"text": object_in(item.get("error")).get("message")}
    return _texts([*items_in(object_in(item.get("result")).get("content")), *items_in(item.get("contentItems")), error])


def _texts(parts: list[Record]) -> str:
    return "\n".join(filter(None, (text_in(part.get("text")) for part in parts)))


def sentence_in(error: object) -> str:
    """The error message, taken out of the provider's JSON if it is wrapped in that."""
    said = text_in(object_in(error).get("message")) or "codex failed without giving a reason"
    document, _ = read_object(said.encode("utf-8", "replace"), 0)
    return text_in(object_in(object_in(document).get("error")).get("message")) or said


class Meter:
    """Adds up the usage of a run's threads; codex's totals include earlier runs of a thread, which are subtracted."""

    def __init__(self) -> None:
        self._before: dict[str | None, Usage] = {}
        self._now: dict[str | None, Usage] = {}
        self._begun: set[str | None] = set()
        self._sum = Usage()

    def begin(self, thread: str | None) -> None:
        """Note that a turn of the thread begins."""
        self._begun.add(thread)

    def read(self, thread: str | None, total: Record) -> Usage | None:
        """The run's usage so far; None if the thread has not worked in this run yet."""
        names = ("inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteInputTokens", "totalTokens")
        given, output, cached, written, whole = (figure_in(total.get(name)) or 0 for name in names)
        usage = Usage.of(given - cached - written, output, cached, written, whole, 0)
        if thread not in self._begun:
            self._before[thread] = usage
            return None
        counted = self._now.get(thread) or self._before.get(thread, Usage())
        self._now[thread] = usage
        self._sum = self._sum + _minus(usage, counted)
        return self._sum


def _minus(now: Usage, before: Usage) -> Usage:
    names = ("input", "output", "cache_read", "cache_write", "total_tokens")
    return Usage.of(*(getattr(now, name) - getattr(before, name) for name in names), 0)
