"""The harness for Claude Code: which profile fields it supports, and how to find out about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pi_subagents.harness.agent import Agent, Probe
from pi_subagents.harness.claude.dialogue import ClaudeDialogue
from pi_subagents.harness.claude.launch import (
    CONVERSATION_FILES,
    KEY_VARIABLES,
    LEVELS,
    LOGIN_FILE,
    OF_SERVERS,
    OFFERED,
    claude_invocation,
    own_name,
    user_home,
)
from pi_subagents.harness.contract import Dialogue, Invocation, Launch, Report, UnknownTool
from pi_subagents.harness.programs import file_there
from pi_subagents.models.task import Profile
from pi_subagents.text.wording import did_you_mean

if TYPE_CHECKING:
    from pi_subagents.place import Place

MODES = ("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions", "manual")


class Claude(Agent):
    """`claude -p` with stream-json in both directions."""

    name = "claude"
    can_steer = True
    conversation_files = CONVERSATION_FILES
    levels = LEVELS
    keeps_in = (*Agent.keeps_in, "CLAUDE_CONFIG_DIR")
    log_in = "run `claude` and type `/login`, or set ANTHROPIC_API_KEY"
    reports: frozenset[Report] = frozenset({"diffs", "cost", "context", "retries", "thinking"})
    honours = frozenset(
        {"model", "thinking_level", "system_prompt", "append_system_prompt", "api_key", "extra_args", "program"}
        | {"tools", "no_tools", "exclude_tools", "no_context_files", "no_extensions", "no_skills"}
        | {"mode", "approvals", "inherit", "max_turns", "max_cost"}
    )

    def credentials(self, place: Place) -> str | None:
        """A key in the environment, or a login."""
        if named := next((name for name in KEY_VARIABLES if place.environ.get(name)), None):
            return f"key in {named}"
        return "logged in" if file_there(user_home(place.environ) / LOGIN_FILE) else None

    def probe(self) -> Probe:
        """It answers a request without asking a model."""
        request = {"type": "control_request", "request_id": "doctor", "request": {"subtype": "initialize"}}
        options = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
        hermetic = ("--setting-sources", "", "--strict-mcp-config")
        return Probe(("-p", *options, *hermetic), msgspec.json.encode(request) + b"\n", '"control_response"')

    def refuses(self, profile: Profile) -> str | None:
        """Arguments that could lift a restriction, contradictions, and unknown modes."""
        if profile.extra_args and profile.restricts_tools:
            return 'restricts tools and sets "extraArgs", which could lift the restriction; use profile fields instead'
        if profile.inherit and (profile.no_extensions or profile.no_skills):
            return 'sets "inherit", which loads plug-ins and skills, but also forbids them'
        if profile.mode and profile.mode not in MODES:
            return f'sets the mode "{profile.mode}"; claude has {", ".join(MODES)}'
        return None

    def unknown_tools(self, profile: Profile, cwd: Path, agent_dir: Path) -> Iterator[UnknownTool]:
        """Names that are neither ours nor its own; it would read an unknown name as "no tools at all"."""
        for key, names in (("tools", profile.tools), ("excludeTools", profile.exclude_tools)):
            for name in names or ():
                if own_name(name) is None:
                    yield UnknownTool(key, name, did_you_mean(name, OFFERED))
                elif key == "tools" and name.startswith(OF_SERVERS):
                    yield UnknownTool(key, name, " With a list of tools it gets none of MCP servers.")

    def invocation(self, launch: Launch) -> Invocation:
        return msgspec.structs.replace(claude_invocation(launch), advice=self.advice(launch))

    def dialogue(self, invocation: Invocation) -> Dialogue:
        return ClaudeDialogue()
