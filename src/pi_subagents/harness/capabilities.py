"""What each agent can do, read from its harness: for the command line and for the documentation."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pi_subagents.harness.contract import Harness


class Capability(msgspec.Struct, frozen=True):
    """Something that not every agent can do, in a word or two and in a sentence without its subject."""

    name: str
    meaning: str
    is_had_by: Callable[[Harness], bool]


def _reports(what: str, name: str, meaning: str) -> Capability:
    return Capability(name, meaning, lambda harness: what in harness.reports)


def _honours(field: str, name: str, meaning: str) -> Capability:
    return Capability(name, meaning, lambda harness: field in harness.honours)


CAPABILITIES = (
    Capability("steer", "hears what you send while it works", lambda harness: harness.can_steer),
    Capability("resume", "continues its own conversation", lambda harness: bool(harness.conversation_files)),
    Capability("warm", "can be kept for the next task", lambda harness: harness.can_be_kept),
    _honours("approvals", "approvals", "asks before it does something, and is answered as `approvals` says"),
    _reports("diffs", "diffs", "shows what it changed in a file"),
    _reports("progress", "progress", "shows the output of a command while it runs"),
    _reports("thinking", "thoughts", "shows what it thinks"),
    _reports("retries", "retries", "says when it asks its model again"),
    _reports("cost", "cost", "says what a run has cost"),
    _reports("context", "context", "says how much of its context window is in use"),
    _honours("tools", "tools", "can be limited to certain tools"),
    _honours("system_prompt", "system prompt", "takes another system prompt"),
    _honours("append_system_prompt", "added prompt", "takes an addition to its system prompt, skills included"),
    _honours("thinking_level", "thinking level", "can be told how much to think"),
    _honours("max_turns", "turn limit", "stops after so many turns"),
    _honours("max_cost", "cost limit", "stops at so much money"),
    _honours("inherit", "your settings", "can use your own settings of it"),
)
"""In the order in which they are shown."""

_SKILLS = frozenset({"suggested_skills", "load_skills"})


def fields_taken(harness: Harness) -> frozenset[str]:
    """What of a `Profile` an agent can be given, skills included: we write them into its instructions."""
    return harness.honours | (_SKILLS if "append_system_prompt" in harness.honours else frozenset())
