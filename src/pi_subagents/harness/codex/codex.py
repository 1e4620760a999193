"""The harness for Codex: which profile fields it supports, what it inherits, and how to find out about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pi_subagents.harness.agent import Agent, Probe
from pi_subagents.harness.codex.dialogue import CodexDialogue, initialize
from pi_subagents.harness.codex.launch import (
    CONTEXT_FILES,
    CONVERSATION_FILES,
    INHERITED,
    LEVELS,
    LOGIN_FILE,
    PROTECTED,
    SANDBOXES,
    codex_invocation,
    login_for,
    user_home,
)
from pi_subagents.harness.contract import Dialogue, Invocation, Launch, Report
from pi_subagents.models.task import Profile

if TYPE_CHECKING:
    from pi_subagents.place import Place


class Codex(Agent):
    """`codex app-server`."""

    name = "codex"
    can_steer = True
    conversation_files = CONVERSATION_FILES
    levels = LEVELS
    keeps_in = (*Agent.keeps_in, "CODEX_HOME")
    log_in = "run `codex login`, or set OPENAI_API_KEY"
    reports: frozenset[Report] = frozenset({"diffs", "context", "progress", "retries", "thinking"})
    honours = frozenset(
        {"model", "thinking_level", "system_prompt", "append_system_prompt", "api_key", "extra_args", "program", "mode"}
        | {"approvals", "inherit", "no_context_files", "no_skills", "no_extensions"}
    )

    def credentials(self, place: Place) -> str | None:
        """A key in the environment, or a login."""
        login = login_for(place.environ, _of_user(place, LOGIN_FILE))
        return f"key in {login.key}" if login.key else "logged in" if login.file else None

    def default_provider(self, cwd: Path, agent_dir: Path) -> str | None:
        """OpenAI, unless its configuration names another."""
        return "openai"

    def probe(self) -> Probe:
        """It answers its first request without a login."""
        return Probe(("app-server",), initialize(), '"id":"initialize","result"')

    def refuses(self, profile: Profile) -> str | None:
        """Unknown sandboxes, and contradictions."""
        if profile.mode and profile.mode not in SANDBOXES:
            return f'sets the mode "{profile.mode}"; codex has {", ".join(SANDBOXES)}'
        if profile.inherit and profile.no_extensions:
            return 'sets "inherit", which loads plug-ins and MCP servers, but also forbids them'
        return None

    def invocation(self, launch: Launch) -> Invocation:
        profile, names = launch.profile, list[str]()
        if profile and profile.inherit:
            names += INHERITED if profile.no_context_files else (*INHERITED, *CONTEXT_FILES)
        inherited = [path for name in names if (path := _of_user(launch, name))]
        unprotected = [name for name in PROTECTED if not os.path.lexists(launch.cwd / name)]
        invocation = codex_invocation(launch, _of_user(launch, LOGIN_FILE), inherited, unprotected)
        return msgspec.structs.replace(invocation, advice=self.advice(launch))

    def dialogue(self, invocation: Invocation) -> Dialogue:
        return CodexDialogue(invocation.brief)


def _of_user(where: Place | Launch, name: str) -> Path | None:
    """The path of that name in the user's own configuration directory, if it exists."""
    path = user_home(where.environ) / name
    return path if path.exists() else None
