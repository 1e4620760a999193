"""OpenAI's Responses, the protocol of Codex: `POST /v1/responses`.

Tools of one MCP server come as a namespace there; here they have one flat name, `<namespace>__<tool>`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pi_subagents.offline.protocols.frames import (
    Frame,
    answer_id,
    arguments_text,
    call_id,
    error_kind,
    halves,
    named_event,
    split,
    usage_of,
)
from pi_subagents.offline.request import Arrival, Request, RequestError, make_request, read_body, text_of
from pi_subagents.offline.script import Call, CutStream, Fail, Hang, Turn, Usage

_SEPARATOR = "__"

Item = Mapping[str, Any]


class Responses:
    """Reads and writes OpenAI's responses."""

    path = "/v1/responses"

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""
        body = read_body(arrival)
        system = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
        return make_request(arrival, body, [*system, *_plain_messages(_items(body))], _names(body).keys())

    def turn(self, turn: Turn, request: Request) -> Iterator[Frame]:
        """The whole stream of a turn, one output item after the other."""
        yield Frame(turn.delay_s, _created(request))
        output: list[Item] = []
        for item, deltas, pause_s in _output(turn, request):
            index = len(output)
            yield Frame(0.0, _item_event("added", index, {**item, **_unfilled(item)}))
            for delta in deltas:
                yield Frame(pause_s, named_event({**delta, "item_id": item["id"], "output_index": index}))
            yield Frame(0.0, _item_event("done", index, item))
            output.append(item)
        yield Frame(0.0, _completed(request, output, usage_of(turn, request)))

    def beginning(self, answer: CutStream | Hang, request: Request) -> Iterator[Frame]:
        """The beginning of a stream that never ends as it should."""
        yield Frame(0.0, _created(request))
        calls = (answer.call,) if isinstance(answer, CutStream) and answer.call is not None else ()
        for index, (item, deltas, _) in enumerate(_output(Turn(answer.text, calls), request)):
            yield Frame(0.0, _item_event("added", index, {**item, **_unfilled(item)}))
            yield Frame(0.0, named_event({**deltas[0], "item_id": item["id"], "output_index": index}))

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error."""
        kind = error_kind(fail, "server_error")
        return json.dumps({"error": {"message": fail.message, "type": kind, "code": str(fail.status)}}).encode()


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


def _flat(namespace: str | None, name: str) -> str:
    return f"{namespace}{_SEPARATOR}{name}" if namespace else name


def _plain_messages(items: Sequence[Item]) -> list[dict[str, Any]]:
    """The items in the form of a chat completion: a message for what one side says in a row."""
    messages: list[dict[str, Any]] = []
    for message in filter(None, map(_plain_message, items)):
        if messages and messages[-1]["role"] == message["role"] != "tool":
            messages[-1] = _joined(messages[-1], message)
        else:
            messages.append(message)
    return messages


def _joined(first: Item, second: Item) -> dict[str, Any]:
    calls = [*first.get("tool_calls", ()), *second.get("tool_calls", ())]
    text = "\n".join(filter(None, (first["content"], second["content"])))
    return {"role": first["role"], "content": text, **({"tool_calls": calls} if calls else {})}


def _plain_message(item: Item) -> dict[str, Any] | None:
    kind = item.get("type", "message")
    if kind == "message":
        return {"role": item.get("role", "user"), "content": text_of(item)}
    if kind == "function_call":
        function = {"name": _flat(item.get("namespace"), item["name"]), "arguments": item["arguments"]}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": item["call_id"], "function": function}]}
    if kind == "function_call_output":
        return {"role": "tool", "tool_call_id": item["call_id"], "content": text_of({"content": item["output"]})}
    return None


def _output(turn: Turn, request: Request) -> Iterator[tuple[Item, list[Item], float]]:
    """Each output item of a turn: the finished item, its pieces, and the pause before each piece."""
    step = answer_id(request)
    if turn.thinking:
        item = {"type": "reasoning", "id": f"rs_{step}", "summary": [_part("summary_text", turn.thinking)]}
        kind = {"type": "response.reasoning_summary_text.delta", "summary_index": 0}
        yield item, [{**kind, "delta": piece} for piece in split(turn.thinking, turn.chunks)], turn.chunk_delay_s
    if turn.text:
        content = [{**_part("output_text", turn.text), "annotations": []}]
        item = {"type": "message", "id": f"msg_{step}", "role": "assistant", "status": "completed", "content": content}
        kind = {"type": "response.output_text.delta", "content_index": 0}
        yield item, [{**kind, "delta": piece} for piece in split(turn.text, turn.chunks)], turn.chunk_delay_s
    for index, call in enumerate(turn.calls):
        kind = {"type": "response.function_call_arguments.delta"}
        yield _call_item(call, index, request), [{**kind, "delta": half} for half in halves(arguments_text(call))], 0.0


def _call_item(call: Call, index: int, request: Request) -> Item:
    namespace, name = _names(request.body).get(call.tool, (None, call.tool))
    item = {
        "type": "function_call",
        "id": f"fc_{answer_id(request)}_{index}",
        "call_id": call_id(request, index),
        "name": name,
        "arguments": arguments_text(call),
        "status": "completed",
    }
    return {**item, "namespace": namespace} if namespace else item


def _part(kind: str, text: str) -> dict[str, Any]:
    return {"type": kind, "text": text}


def _unfilled(item: Item) -> Item:
    """What of an item is still empty when it is announced."""
    match item["type"]:
        case "reasoning":
            return {"summary": []}
        case "message":
            return {"content": [], "status": "in_progress"}
        case _:
            return {"arguments": "", "status": "in_progress"}


def _item_event(what: str, index: int, item: Item) -> bytes:
    return named_event({"type": f"response.output_item.{what}", "output_index": index, "item": item})


def _created(request: Request) -> bytes:
    return named_event({"type": "response.created", "response": _response(request, "in_progress", ())})


def _completed(request: Request, output: Sequence[Item], usage: Usage) -> bytes:
    figures = {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
    response = {**_response(request, "completed", output), "usage": figures}
    return named_event({"type": "response.completed", "response": response})


def _response(request: Request, status: str, output: Sequence[Item]) -> dict[str, Any]:
    envelope = {"id": f"resp_{answer_id(request)}", "object": "response", "created_at": 0, "model": request.model}
    return {**envelope, "status": status, "output": list(output)}
