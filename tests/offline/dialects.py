"""One talk in the words of each provider, and an answer read back, so that a test can hold for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pi_subagents.offline import OfflineModel
from tests.offline.client import Reply, connect, receive

Event = Mapping[str, Any]
Json = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What was called and what came back."""

    call_id: str
    tool: str
    arguments: str
    result: str


@dataclass
class Heard:
    """An answer put together from its stream; each call is its id, name and arguments."""

    text: str = ""
    thinking: str = ""
    calls: list[list[str]] = field(default_factory=list)
    usage: tuple[int, int, int] | None = None
    ended: str | None = None


@dataclass(frozen=True, eq=False)
class Dialect:
    """How a client of one provider speaks and listens."""

    name: str
    path: str
    tools: Sequence[Json]
    body: Callable[[str, str, Sequence[Told], str], Json]
    hear: Callable[[Iterable[Event]], Heard]

    def ask(
        self,
        model: OfflineModel,
        prompt: str = "look around",
        told: Sequence[Told] = (),
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Reply:
        """One request on a connection of its own."""
        body = {"model": "scripted", "stream": True, "tools": self.tools, **fields}
        body |= self.body("You are a scout.", prompt, told, "and now?" if told else "")
        with connect(model) as connection:
            connection.request("POST", self.path, json.dumps(body), dict(headers or {}))
            return receive(connection)


def events_in(body: bytes) -> list[Json]:
    """The events of a stream, whole or cut."""
    data = [block.partition(b"data: ")[2] for block in body.split(b"\n\n")[:-1]]
    return [json.loads(line) for line in data if line != b"[DONE]"]


def _chat_body(system: str, prompt: str, told: Sequence[Told], then: str) -> Json:
    messages: list[Json] = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    for one in told:
        call = {"id": one.call_id, "function": {"name": one.tool, "arguments": one.arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": one.call_id, "content": one.result})
    return {"messages": [*messages, *([{"role": "user", "content": then}] if then else [])]}


def _chat_hear(events: Iterable[Event]) -> Heard:
    reply = Reply(200, {}, b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events))
    calls = [[call["id"], call["function"]["name"], call["function"]["arguments"]] for call in reply.calls]
    heard = Heard(reply.text, "".join(delta.get("reasoning_content", "") for delta in reply.deltas), calls)
    if usage := reply.events[-1].get("usage"):
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        heard.usage = usage["prompt_tokens"], usage["completion_tokens"], cached
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
        heard.ended = {"tool_calls": "calls", "stop": "done"}[reply.finish_reason]
    return heard


def _messages_body(system: str, prompt: str, told: Sequence[Told], then: str) -> Json:
    # Claude Code puts its reminders into the user's message, and a system message behind it.
    reminder = {"type": "text", "text": "<system-reminder>Be brief.</system-reminder>\n"}
    messages: list[Json] = [
        {"role": "user", "content": [reminder, {"type": "text", "text": prompt}]},
        {"role": "system", "content": "The shell is bash."},
    ]
    for index, one in enumerate(told):
        use = {"type": "tool_use", "id": one.call_id, "name": one.tool, "input": json.loads(one.arguments)}
        result = {"type": "tool_result", "tool_use_id": one.call_id, "content": [{"type": "text", "text": one.result}]}
        last = [{"type": "text", "text": then}] if index == len(told) - 1 else []
        messages.append({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, use]})
        messages.append({"role": "user", "content": [result, *last]})
    return {"system": [{"type": "text", "text": system}], "messages": messages}


def _messages_hear(events: Iterable[Event]) -> Heard:
    heard = Heard()
    for event in events:
        match event:
            case {"type": "message_start", "message": {"usage": usage}}:
                read = usage["cache_read_input_tokens"]
                heard.usage = usage["input_tokens"] + read, 0, read
            case {"type": "content_block_start", "content_block": {"type": "tool_use", "id": id, "name": name}}:
                heard.calls.append([id, name, ""])
            case {"type": "content_block_delta", "delta": {"partial_json": piece}}:
                heard.calls[-1][2] += piece
            case {"type": "content_block_delta", "delta": {"text": piece}}:
                heard.text += piece
            case {"type": "content_block_delta", "delta": {"thinking": piece}}:
                heard.thinking += piece
            case {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": tokens}}:
                assert heard.usage
                heard.usage = heard.usage[0], tokens, heard.usage[2]
                heard.ended = {"tool_use": "calls", "end_turn": "done"}[reason]
    return heard


def _responses_body(system: str, prompt: str, told: Sequence[Told], then: str) -> Json:
    # Codex tells about the place in a message of its own before the prompt.
    items: list[Json] = [_said("developer", system), _said("user", "<cwd>/tmp</cwd>"), _said("user", prompt)]
    for one in told:
        call = {"type": "function_call", "call_id": one.call_id, **_spaced(one.tool), "arguments": one.arguments}
        items += [{"type": "reasoning", "summary": []}, _said("assistant", "I look."), call]
        items.append({"type": "function_call_output", "call_id": one.call_id, "output": one.result})
    return {"input": [*items, *([_said("user", then)] if then else [])]}


def _said(role: str, text: str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _spaced(tool: str) -> Json:
    namespace, _, name = tool.rpartition("__")
    return {"namespace": namespace, "name": name} if namespace else {"name": name}


def _responses_hear(events: Iterable[Event]) -> Heard:
    heard = Heard()
    for event in events:
        match event:
            case {"type": "response.output_item.added", "item": {"type": "function_call"} as item}:
                name = "__".join(filter(None, (item.get("namespace"), item["name"])))
                heard.calls.append([item["call_id"], name, item["arguments"]])
            case {"type": "response.function_call_arguments.delta", "delta": piece}:
                heard.calls[-1][2] += piece
            case {"type": "response.output_text.delta", "delta": piece}:
                heard.text += piece
            case {"type": "response.reasoning_summary_text.delta", "delta": piece}:
                heard.thinking += piece
            case {"type": "response.completed", "response": {"usage": usage, "output": output}}:
                cached = usage["input_tokens_details"]["cached_tokens"]
                heard.usage = usage["input_tokens"], usage["output_tokens"], cached
                heard.ended = "calls" if any(item["type"] == "function_call" for item in output) else "done"
    return heard


def _function(name: str) -> Json:
    return {"type": "function", "name": name}


_CHAT_TOOLS = [{"type": "function", "function": {"name": name}} for name in ("ls", "mcp__pi__go")]
_MESSAGES_TOOLS: list[Json] = [{"name": name, "input_schema": {}} for name in ("ls", "mcp__pi__go")]
_NAMESPACE = {"type": "namespace", "name": "mcp__pi", "tools": [_function("go")]}
_RESPONSES_TOOLS = [_function("ls"), _NAMESPACE, {"type": "web_search"}]


def _gemini_body(system: str, prompt: str, told: Sequence[Told], then: str) -> Json:
    # Gemini CLI tells about the place in a message of its own before the prompt, and may leave out ids.
    context = {"role": "user", "parts": [{"text": "<session_context>"}]}
    contents: list[Json] = [context, {"role": "user", "parts": [{"text": prompt}]}]
    for one in told:
        call = {"id": one.call_id, "name": one.tool, "args": json.loads(one.arguments)}
        answer = {"id": one.call_id, "name": one.tool, "response": {"output": one.result}}
        thought = {"text": "hm", "thought": True}
        contents.append({"role": "model", "parts": [thought, {"text": "I look."}, {"functionCall": call}]})
        contents.append({"role": "user", "parts": [{"functionResponse": answer}]})
    last = [{"role": "user", "parts": [{"text": then}]}] if then else []
    return {"systemInstruction": {"role": "user", "parts": [{"text": system}]}, "contents": [*contents, *last]}


def _gemini_hear(events: Iterable[Event]) -> Heard:
    heard = Heard()
    for event in events:
        (candidate,) = event["candidates"]
        for part in candidate["content"]["parts"]:
            match part:
                case {"functionCall": call}:
                    heard.calls.append([call["id"], call["name"], json.dumps(call["args"])])
                case {"text": text, "thought": True}:
                    heard.thinking += text
                case {"text": text}:
                    heard.text += text
        if candidate.get("finishReason") == "STOP":
            usage = event["usageMetadata"]
            cached = usage["cachedContentTokenCount"]
            heard.usage = usage["promptTokenCount"], usage["candidatesTokenCount"], cached
            heard.ended = "calls" if heard.calls else "done"
    return heard


_GEMINI_TOOLS: list[Json] = [{"functionDeclarations": [{"name": "ls"}, {"name": "mcp__pi__go"}]}, {"googleSearch": {}}]
_MODEL = "/v1beta/models/scripted"

CHAT = Dialect("chat", "/v1/chat/completions", _CHAT_TOOLS, _chat_body, _chat_hear)
MESSAGES = Dialect("messages", "/v1/messages?beta=true", _MESSAGES_TOOLS, _messages_body, _messages_hear)
RESPONSES = Dialect("responses", "/v1/responses", _RESPONSES_TOOLS, _responses_body, _responses_hear)
GEMINI = Dialect("gemini", f"{_MODEL}:streamGenerateContent?alt=sse", _GEMINI_TOOLS, _gemini_body, _gemini_hear)
