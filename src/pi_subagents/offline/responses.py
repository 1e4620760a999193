"""OpenAI's Responses, the protocol of Codex: `POST /v1/responses`.

Tools of one MCP server come as a namespace there; here they have one flat name, `<namespace>__<tool>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pi_subagents.offline.protocol import (
    Block,
    WireProtocol,
    answer_id,
    argument_halves,
    arguments_text,
    call_id,
    error_kind,
    named_event,
    split,
)
from pi_subagents.offline.request import Arrival, Request, RequestError, joined, make_request, read_body, text_of
from pi_subagents.offline.script import Call, Fail, Turn, Usage

Item = Mapping[str, Any]
_Output = tuple[Item, Item, list[Item], float]
"""An output item: finished, what of it is empty at first, its deltas, and the pause before each."""


class Responses(WireProtocol):
    """Reads and writes OpenAI's responses."""

    path = "/v1/responses"

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""
        body = read_body(arrival)
        system = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
        return make_request(
            arrival, body, [*system, *joined(filter(None, map(_plain_message, _items(body))))], _names(body).keys()
        )

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""
        kind = error_kind(fail, "server_error")
        return json.dumps({"error": {"message": fail.message, "type": kind, "code": str(fail.status)}}).encode()

    def start(self, request: Request, usage: Usage) -> bytes:
        """The response without its output."""
        response = _response(request, status="in_progress", output=[])
        return named_event({"type": "response.created", "response": response})

    def blocks(self, turn: Turn, request: Request) -> Iterator[Block]:
        """Output items, numbered in a row: each is announced, filled, and sent once more as a whole."""
        for index, (item, unfilled, deltas, pause_s) in enumerate(_output(turn, request)):
            place = {"output_index": index}
            yield Block(
                named_event({"type": "response.output_item.added", **place, "item": {**item, **unfilled}}),
                [named_event({**delta, "item_id": item["id"], **place}) for delta in deltas],
                named_event({"type": "response.output_item.done", **place, "item": item}),
                pause_s,
            )

    def end(self, turn: Turn, request: Request, usage: Usage) -> bytes:
        """The response as a whole once more."""
        return named_event({"type": "response.completed", "response": self.whole(turn, request, usage)})

    def whole(self, turn: Turn, request: Request, usage: Usage) -> Item:
        """The response with its output and its token figures."""
        figures = {
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens": usage.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        }
        output = [item for item, *_ in _output(turn, request)]
        return _response(request, status="completed", output=output, usage=figures)


def _response(request: Request, **fields: Any) -> Item:
    envelope = {"id": f"resp_{answer_id(request)}", "object": "response", "created_at": 0, "model": request.model}
    return {**envelope, **fields}


def _items(body: Mapping[str, Any]) -> list[Item]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise RequestError("the request body has no `input`, a text or a list of objects")
    return given


def _names(body: Mapping[str, Any]) -> dict[str, tuple[str | None, str]]:
    """Each tool's flat name, with its namespace (if it is in one) and the name it has there."""
    names: dict[str, tuple[str | None, str]] = {}
    for tool in body.get("tools") or ():
        if tool.get("type") == "namespace":
            names |= {_flat(tool["name"], member["name"]): (tool["name"], member["name"]) for member in tool["tools"]}
        elif "name" in tool:
            names[tool["name"]] = (None, tool["name"])
    return names


def _free_form(body: Mapping[str, Any]) -> set[str]:
    """The tools that take text instead of arguments, such as Codex's tool for patches."""
    return {tool["name"] for tool in body.get("tools") or () if tool.get("type") == "custom"}


def _flat(namespace: str | None, name: str) -> str:
    return f"{namespace}__{name}" if namespace else name


def _plain_message(item: Item) -> dict[str, Any] | None:
    kind = item.get("type", "message")
    if kind == "message":
        return {"role": item.get("role", "user"), "content": text_of(item)}
    if kind == "function_call":
        function = {"name": _flat(item.get("namespace"), item["name"]), "arguments": item["arguments"]}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": item["call_id"], "function": function}]}
    if kind == "custom_tool_call":
        function = {"name": item["name"], "arguments": json.dumps({"input": item["input"]})}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": item["call_id"], "function": function}]}
    if kind in ("function_call_output", "custom_tool_call_output"):
        return {"role": "tool", "tool_call_id": item["call_id"], "content": text_of({"content": item["output"]})}
    return None


def _output(turn: Turn, request: Request) -> Iterator[_Output]:
    step = answer_id(request)
    if turn.thinking:
        item = {"type": "reasoning", "id": f"rs_{step}", "summary": [{"type": "summary_text", "text": turn.thinking}]}
        deltas = _deltas("reasoning_summary_text", split(turn.thinking, turn.chunks), summary_index=0)
        yield item, {"summary": []}, deltas, turn.chunk_delay_s
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{step}", "role": "assistant", "status": "completed", "content": content}
        deltas = _deltas("output_text", split(turn.text, turn.chunks), content_index=0)
        yield item, {"content": [], "status": "in_progress"}, deltas, turn.chunk_delay_s
    free = _free_form(request.body)
    for index, call in enumerate(turn.calls):
        yield _call_as_custom(call, index, request) if call.tool in free else _call_as_function(call, index, request)


def _deltas(kind: str, pieces: Sequence[str], **place: int) -> list[Item]:
    return [{"type": f"response.{kind}.delta", **place, "delta": piece} for piece in pieces]


def _call_as_function(call: Call, index: int, request: Request) -> _Output:
    namespace, name = _names(request.body).get(call.tool, (None, call.tool))
    item = {
        "type": "function_call",
        "id": f"fc_{answer_id(request)}_{index}",
        "call_id": call_id(request, index),
        "name": name,
        "arguments": arguments_text(call),
        "status": "completed",
        **({"namespace": namespace} if namespace else {}),
    }
    deltas = _deltas("function_call_arguments", argument_halves(call))
    return item, {"arguments": "", "status": "in_progress"}, deltas, 0.0


def _call_as_custom(call: Call, index: int, request: Request) -> _Output:
    """A call of a tool that takes a text instead of arguments: a script writes it as the argument `input`."""
    text = str(call.arguments.get("input", ""))
    item = {
        "type": "custom_tool_call",
        "id": f"ctc_{answer_id(request)}_{index}",
        "call_id": call_id(request, index),
        "name": call.tool,
        "input": text,
        "status": "completed",
    }
    return item, {"input": "", "status": "in_progress"}, _deltas("custom_tool_call_input", split(text, 2)), 0.0
