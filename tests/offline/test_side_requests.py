"""What agents ask beside their conversation uses up no step of its script."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pi_subagents.offline import OfflineModel, Say, Script
from pi_subagents.offline.side import SIDE_ANSWER
from tests.offline.client import connect, receive
from tests.offline.dialects import CHAT, GEMINI, MESSAGES, RESPONSES, Dialect, events_in

OPENCODE, QWEN = {"User-Agent": "opencode/1.18.33 ai-sdk"}, {"User-Agent": "QwenCode/0.24.4 (linux; x64)"}
CLAUDE, PI = {"User-Agent": "claude-cli/2.1.325 (external, sdk-cli)"}, {"User-Agent": "pi/0.87"}
CODEX = {"User-Agent": "codex_exec/0.166.0"}
GEMINI_CLI = {"User-Agent": "GeminiCLI-tui/0.61.0/gemini-3.1-pro (linux; x64; terminal)"}
TITLE = "You are a title generator. You output ONLY a thread title."
MEMORY = "You are now acting as the managed memory extraction subagent for an AI coding assistant."
HERE = "You are a Claude agent.\n# Environment\nYou have been invoked in the following environment:"


def told(system: str, dialect: Dialect = CHAT) -> Dialect:
    """The same agent with other instructions."""
    return replace(dialect, body=lambda _, prompt, told, then: dialect.body(system, prompt, told, then))


def kind(request_kind: str) -> dict[str, str]:
    return {**CODEX, "x-codex-turn-metadata": json.dumps({"request_kind": request_kind})}


@pytest.mark.parametrize(
    ("dialect", "tools", "headers", "is_side"),
    [
        (told(TITLE), [], OPENCODE, True),
        (told("Be brief."), [], OPENCODE, False),
        (told(MEMORY), CHAT.tools, QWEN, True),
        (CHAT, CHAT.tools, QWEN, False),
        (told("Write a title.", MESSAGES), [], CLAUDE, True),
        (told(HERE, MESSAGES), [], CLAUDE, False),
        (MESSAGES, MESSAGES.tools, CLAUDE, False),
        (told("You are tasked with summarizing conversations.", MESSAGES), MESSAGES.tools, CLAUDE, True),
        (RESPONSES, [], kind("compaction"), True),
        (RESPONSES, [], kind("turn"), False),
        (RESPONSES, [], {**CODEX, "x-codex-turn-metadata": "no json"}, False),
        (RESPONSES, [], CODEX, False),
        (GEMINI, [], GEMINI_CLI, False),
        (replace(GEMINI, path="/v1beta/models/flash:generateContent"), [], GEMINI_CLI, True),
        (told(TITLE), [], PI, False),
        (told(TITLE), [], {}, False),
    ],
)
def test_side_requests_are_told_apart_from_conversations(
    dialect: Dialect, tools: list[object], headers: dict[str, str], is_side: bool
) -> None:
    with OfflineModel(Script().otherwise([Say("From the script.")])) as model:
        reply = dialect.ask(model, headers=headers, tools=tools)
    assert [request.is_side for request in model.requests] == [is_side]
    assert (SIDE_ANSWER.encode() in reply.body) is is_side
    assert (b"From the script." in reply.body) is not is_side


def test_a_title_takes_no_step_from_the_conversation() -> None:
    with OfflineModel(Script().otherwise([Say("First.")])) as model:
        told(TITLE).ask(model, headers=OPENCODE, tools=[])
        reply = CHAT.ask(model, headers=OPENCODE)
    assert CHAT.hear(events_in(reply.body)).text == "First."


def test_an_answer_that_must_have_a_schema_has_it() -> None:
    properties: dict[str, Any] = {"why": {"type": "STRING"}, "score": {"type": "INTEGER"}, "more": {"type": "ARRAY"}}
    properties |= {"kind": {"type": "string", "enum": ["flash", "pro"]}, "sure": {"type": "boolean"}}
    schema = {"type": "OBJECT", "properties": properties, "required": ["why", "score", "kind", "sure"]}
    with OfflineModel(Script()) as model, connect(model) as connection:
        body = {"contents": [], "generationConfig": {"responseJsonSchema": schema}}
        connection.request("POST", "/v1beta/models/flash:generateContent", json.dumps(body), GEMINI_CLI)
        said = json.loads(receive(connection).body)["candidates"][0]["content"]["parts"][0]["text"]
    assert json.loads(said) == {"why": SIDE_ANSWER, "score": 1, "kind": "flash", "sure": False}
