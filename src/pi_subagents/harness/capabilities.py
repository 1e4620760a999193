"""What each agent can do, as its harness declares it: for the command line and the documentation."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pi_subagents.harness.contract import Harness


class Capability(msgspec.Struct, frozen=True):
    """Something that only some agents can do; `meaning` is a sentence about the agent, without its subject."""

    name: str
    meaning: str
    is_had_by: Callable[[Harness], bool]


def _reports(what: str, name: str, meaning: str) -> Capability:
    return Capability(name, meaning, lambda harness: what in harness.reports)


def _honours(field: str, name: str, meaning: str) -> Capability:
    return Capability(name, meaning, lambda harness: field in harness.honours)


CAPABILITIES = (
    Capability("steer", "takes your messages while it works", lambda harness: harness.can_steer),
    Capability("resume", "can continue its own conversation", lambda harness: bool(harness.conversation_files)),
    Capability("warm", "its process can be kept for the next task", lambda harness: harness.can_be_kept),
    _honours("approvals", "approvals", "asks for permission, and `approvals` answers"),
    _reports("diffs", "diffs", "shows what it changed in a file, as a diff"),
    _reports("progress", "progress", "shows a command's output while it runs"),
    _reports("thinking", "thoughts", "shows its thinking"),
    _reports("retries", "retries", "says when it retries a request to its model"),
    _reports("cost", "cost", "says what a run cost"),
    _reports("context", "context", "says how full its context window is"),
    _honours("tools", "tools", "can be limited to certain tools"),
    _honours("system_prompt", "system prompt", "takes a new system prompt in place of its own"),
    _honours("append_system_prompt", "added prompt", "takes additions to its system prompt, including skills"),
    _honours("thinking_level", "thinking level", "can be told how much to think"),
    _honours("max_turns", "turn limit", "can be limited to a number of turns"),
    _honours("max_cost", "cost limit", "can be limited to an amount of money"),
    _honours("inherit", "your settings", "can use your own settings for it"),
)
"""In display order."""

_SKILLS = frozenset({"suggested_skills", "load_skills"})


def fields_taken(harness: Harness) -> frozenset[str]:
    """The fields of a `Profile` that an agent supports, including skills, which we write into its instructions."""
    return harness.honours | (_SKILLS if "append_system_prompt" in harness.honours else frozenset())
