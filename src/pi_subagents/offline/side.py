"""Side requests: those that agents make besides their conversation, for a title, a summary, or what to remember.

No script expects them, so they get a fixed answer. A request without tools is not necessarily one: a profile may forbid
all tools. Agents are recognised by their `user-agent`; `pi` and unknown agents make no side requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pi_subagents.offline.request import Request

SIDE_ANSWER = "Scripted."


def is_side(request: Request) -> bool:
    """Whether this request is not part of the agent's conversation."""
    agent = request.headers.get("user-agent", "")
    return any(agent.startswith(name) and beside(request) for name, beside in _BESIDE.items())


def side_answer(request: Request) -> str:
    """A short text, or the smallest JSON that fits the schema that the request asks for."""
    schema = _schema(request.body)
    return SIDE_ANSWER if schema is None else json.dumps(_smallest(schema))


def _beside_claude(request: Request) -> bool:
    """Claude Code describes the environment in its conversations, and in no other request."""
    summarises = "tasked with summarizing conversations" in request.system_text
    return summarises or not (request.tools or "# Environment" in request.system_text)


def _beside_codex(request: Request) -> bool:
    """Codex says what a request is for: a turn, or something else."""
    try:
        metadata = json.loads(request.headers.get("x-codex-turn-metadata", "{}"))
    except ValueError:
        return False
    return isinstance(metadata, dict) and metadata.get("request_kind", "turn") != "turn"


def _beside_opencode(request: Request) -> bool:
    """Opencode's internal agents have fixed instructions and no tools."""
    instructions = ("You are a title generator", "You are a context summarization", "Summarize what was done in this")
    return not request.tools and request.system_text.startswith(instructions)


def _beside_qwen(request: Request) -> bool:
    """Qwen Code streams only its conversations, and the requests that extract memories."""
    memory = ("You are now acting as the managed memory", "You are performing a managed memory dream")
    return not request.streams or request.system_text.startswith(memory)


def _beside_gemini(request: Request) -> bool:
    """Gemini CLI streams only its conversations; among the rest is the choice of the model."""
    return not request.streams


_BESIDE: Mapping[str, Callable[[Request], bool]] = {
    "claude-cli/": _beside_claude,
    "codex": _beside_codex,
    "opencode/": _beside_opencode,
    "GeminiCLI": _beside_gemini,
    "QwenCode/": _beside_qwen,
}


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    settings = body.get("generationConfig") or {}
    found = settings.get("responseJsonSchema") or settings.get("responseSchema")
    return found if isinstance(found, dict) else None


def _smallest(schema: Mapping[str, Any]) -> Any:
    """A value that fits the schema; knows only what agents' schemas use."""
    if schema.get("enum"):
        return schema["enum"][0]
    match str(schema.get("type", "object")).lower():
        case "object":
            required = schema.get("required", ())
            return {name: _smallest(each) for name, each in schema.get("properties", {}).items() if name in required}
        case "array":
            return []
        case "integer" | "number":
            return 1
        case "boolean":
            return False
        case _:
            return SIDE_ANSWER
