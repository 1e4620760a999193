"""Google's Generative Language API, used by Gemini CLI: `POST /v1beta/models/<model>:streamGenerateContent`."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pi_subagents.offline.protocol import Block, WireProtocol, answer_id, call_id, split, tokens_in
from pi_subagents.offline.request import Arrival, Request, RequestError, joined, make_request, read_body, text_of
from pi_subagents.offline.script import Call, Fail, Turn, Usage

Fields = Mapping[str, Any]

_PATH = re.compile(r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)")
_COUNT = re.compile(r"/v1(?:beta)?/models/[^/:]+:countTokens")
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
_SIGNATURE = base64.b64encode(b"offline").decode()


class Gemini(WireProtocol):
    """Reads Google's requests and writes its answers."""

    path = "/v1beta/models/<model>:streamGenerateContent"

    def takes(self, path: str) -> bool:
        """The path names the model, and whether to stream the answer."""
        return _PATH.fullmatch(path) is not None

    def read(self, arrival: Arrival) -> Request:
        """The request; raises RequestError if it is none."""
        body, address = read_body(arrival), _PATH.fullmatch(arrival.path)
        contents = body.get("contents")
        if address is None or not isinstance(contents, list) or not all(isinstance(each, dict) for each in contents):
            raise RequestError("the request body has no list `contents` of objects")
        instruction = body.get("systemInstruction")
        system = [{"role": "system", "content": text_of({"content": instruction["parts"]})}] if instruction else []
        messages = [*system, *joined(_plain_messages(contents))]
        streams = address["method"] == "streamGenerateContent"
        return make_request(arrival, body, messages, _names(body), model=address["model"], streams=streams)

    def error(self, fail: Fail) -> bytes:
        """The JSON for an error; for Google it also says how long to wait."""
        error: dict[str, Any] = {"code": fail.status, "message": fail.message}
        error["status"] = _STATUS.get(fail.status, "INTERNAL")
        if fail.retry_after_s is not None:
            error["details"] = [{"@type": _RETRY_INFO, "retryDelay": f"{fail.retry_after_s}s"}]
        return json.dumps({"error": error}).encode()

    def start(self, request: Request, usage: Usage) -> bytes:
        """Nothing: every piece stands for itself."""
        return b""

    def blocks(self, turn: Turn, request: Request) -> Iterator[Block]:
        """Pieces of thinking and text. A call is one event, so its stream can only be cut inside its JSON."""
        for thought, text in ((True, turn.thinking), (False, turn.text)):
            if text:
                pieces = [_event(request, _said(piece, thought)) for piece in split(text, turn.chunks)]
                yield Block(b"", pieces, pause_s=turn.chunk_delay_s)
        for index, call in enumerate(turn.calls):
            event = _event(request, _called(call, index, request))
            yield Block(b"", [event[: len(event) // 2], event[len(event) // 2 :]])

    def end(self, turn: Turn, request: Request, usage: Usage) -> bytes:
        """The stop reason, which is the same for a call, and the tokens."""
        return _encode(_response(request, [_said("", False)], finishReason="STOP") | {"usageMetadata": _figures(usage)})

    def whole(self, turn: Turn, request: Request, usage: Usage) -> Fields:
        """A response with one candidate."""
        parts = [_said(text, thought) for thought, text in ((True, turn.thinking), (False, turn.text)) if text]
        parts += [_called(call, index, request) for index, call in enumerate(turn.calls)]
        return _response(request, parts, finishReason="STOP") | {"usageMetadata": _figures(usage)}


def is_count(path: str) -> bool:
    """Whether a client asks at this path how many tokens its request has."""
    return _COUNT.fullmatch(path) is not None


def count_tokens(raw: bytes) -> bytes:
    """The answer to that question; no script is involved."""
    return json.dumps({"totalTokens": tokens_in(len(raw))}).encode()


def _names(body: Fields) -> list[str]:
    return [each["name"] for tool in body.get("tools") or () for each in tool.get("functionDeclarations", ())]


def _plain_messages(contents: list[Fields]) -> Iterator[dict[str, Any]]:
    """The contents as chat-completion messages; each tool result becomes a message of its own."""
    for content in contents:
        parts = content.get("parts") or []
        for part in parts:
            if answer := part.get("functionResponse"):
                text = _result_text(answer.get("response") or {})
                yield {"role": "tool", "tool_call_id": answer.get("id") or answer["name"], "content": text}
        spoken = [part for part in parts if "functionResponse" not in part and not part.get("thought")]
        if spoken or not parts:
            calls = [_plain_call(part["functionCall"]) for part in spoken if "functionCall" in part]
            role = "assistant" if content.get("role") == "model" else "user"
            yield {"role": role, "content": text_of({"content": spoken}), **({"tool_calls": calls} if calls else {})}


def _plain_call(call: Fields) -> dict[str, Any]:
    """A call; its id is optional, and the name takes its place."""
    function = {"name": call["name"], "arguments": json.dumps(call.get("args", {}))}
    return {"id": call.get("id") or call["name"], "function": function}


def _result_text(response: Fields) -> str:
    said = response.get("output", response.get("error"))
    return said if isinstance(said, str) else json.dumps(response)


def _said(text: str, thought: bool) -> Fields:
    return {"text": text, "thought": True} if thought else {"text": text}


def _called(call: Call, index: int, request: Request) -> Fields:
    function = {"id": call_id(request, index), "name": call.tool, "args": dict(call.arguments)}
    return {"functionCall": function, "thoughtSignature": _SIGNATURE}


def _response(request: Request, parts: list[Fields], **fields: Any) -> dict[str, Any]:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, **fields}
    return {"candidates": [candidate], "modelVersion": request.model, "responseId": answer_id(request)}


def _event(request: Request, part: Fields) -> bytes:
    return _encode(_response(request, [part]))


def _encode(response: Fields) -> bytes:
    return b"data: " + json.dumps(response).encode() + b"\n\n"


def _figures(usage: Usage) -> Fields:
    return {
        "promptTokenCount": usage.prompt_tokens,
        "candidatesTokenCount": usage.completion_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "totalTokenCount": usage.prompt_tokens + usage.completion_tokens,
    }
