"""Every command and every tool, with arguments that make it work: what has no entry here fails a test.

In arguments `{session}` stands for the id of a session in the project, `{run}` for that of its run, `{out}` for a
directory where files may be written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from pi_subagents.surfaces.cli.app import app
from pi_subagents.tools import TOOLS
from tests.security.kit import Done, Victim


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to call a command; it may write `writes` in the home, and what is `typed` makes it need a terminal.

    It is typed once the command has shown `shown`.
    """

    argv: tuple[str, ...]
    stdin: str = ""
    writes: tuple[str, ...] = ()
    typed: bytes = b""
    shown: bytes = b""

    @property
    def takes_id(self) -> bool:
        return any("{session}" in word or "{run}" in word for word in self.argv)

    def words(self, session: str, run: str, out: str) -> tuple[str, ...]:
        """The arguments with everything filled in."""
        places = {"{session}": session, "{run}": run, "{out}": out}
        filled = list(self.argv)
        for place, value in places.items():
            filled = [word.replace(place, value) for word in filled]
        return tuple(filled)


def _try(line: str, *more: str, **how: Any) -> Attempt:
    return Attempt((*line.split(), *more), **how)


MCP_INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
_MCP_HELLO = "".join(
    json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    for message in (
        {"id": 1, "method": "initialize", "params": MCP_INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "resources/list"},
        {"id": 3, "method": "prompts/list"},
        {"id": 4, "method": "tools/call", "params": {"name": "list_subagent_profiles", "arguments": {}}},
    )
)
_BRIDGE_HELLO = {"protocol": 1, "extension": "0", "pi": "0.87.1", "path": "", "mode": "rpc"}

COMMANDS: dict[str, tuple[Attempt, ...]] = {
    "run": (
        _try("run --json", "Say hello"),
        _try("run -p safe -j 2 --cwd . --files README.md --plain", "Say hello", "And bye"),
    ),
    "background start": (_try("background start steady", "Say hello"),),
    "background list": (_try("background list --all"),),
    "background status": (_try("background status {run}"),),
    "background wait": (_try("background wait {run} --timeout 1"),),
    "background logs": (_try("background logs {run}"),),
    "background stop": (_try("background stop {run}"),),
    "background attach": (_try("background attach --plain {run}"),),
    "agents": (_try("agents"), _try("agents --json"), _try("agents --programs")),
    "models": (_try("models"),),
    "steer": (_try("steer {session}", "Go on"),),
    "watch": (_try("watch", shown=b"Sub-agents: ", typed=b"q"),),
    "mcp": (_try("mcp", stdin=_MCP_HELLO),),
    "bridge": (
        _try(
            "bridge", stdin=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": _BRIDGE_HELLO}) + "\n"
        ),
    ),
    "call": (),  # with every tool, below
    "tools": (_try("tools"),),
    "sessions list": (_try("sessions list"), _try("sessions list --all --json")),
    "sessions show": (_try("sessions show {session}"),),
    "sessions output": (_try("sessions output {session}"),),
    "sessions resume": (_try("sessions resume --cwd . {session}", "Go on"),),
    "sessions stop": (_try("sessions stop {session}"),),
    "sessions export": (
        _try("sessions export {session} --format md"),
        _try("sessions export {session} -o {out}/page.html"),
    ),
    "sessions delete": (_try("sessions delete {session} --yes"),),
    "sessions clean": (_try("sessions clean --keep 0 --yes"), _try("sessions clean --all --older-than 1h --yes")),
    "sessions reindex": (_try("sessions reindex"),),
    "profile create": (
        _try("profile create fresh --scope project --model acme/large"),
        _try("profile create copied --from .pi/agent-profiles/linked.md --scope project"),
    ),
    "profile delete": (_try("profile delete linked --yes --scope project"),),
    "profile edit": (_try("profile edit linked --scope project", shown=b"Number [", typed=b"\r" * 30 + b"n\r"),),
    "profile list": (_try("profile list"),),
    "profile show": (_try("profile show linked"),),
    "preset list": (_try("preset list"),),
    "preset new": (_try("preset new fresh"),),
    "preset show": (_try("preset show linked"),),
    "init": (_try("init"), _try("init --agents")),
    "demo": (_try("demo --plain"),),
    "doctor": (_try("doctor"),),
    "conformance": (_try("conformance --agent pi --story 1"),),
    "setup": (_try("setup"),),
    "pi": (_try("pi --version"),),
    "install-pi": (_try("install-pi --version no/version"),),
    "install-agent": (_try("install-agent"), _try("install-agent codex no/version")),
    "install mcp": (
        _try("install mcp --client claude --scope project"),
        _try("install mcp --client vscode --scope project"),
        _try("install mcp --client cursor", writes=(".cursor",)),
    ),
    "install pi": (_try("install pi --project"), _try("install pi --dry-run")),
    "uninstall mcp": (
        _try("uninstall mcp --client claude --scope project"),
        _try("uninstall mcp --client gemini --scope project"),
    ),
    "uninstall pi": (_try("uninstall pi --project"),),
    "completion": (_try("completion bash"),),
    "trust": (_try("trust --list"),),
}

_HELLO = {"name": "hello", "prompt": "Say hello"}
CALLS: dict[str, tuple[dict[str, Any], ...]] = {
    "delegate_to_subagents": (
        {"tasks": [_HELLO]},
        {"tasks": [{"name": "again", "prompt": "Go on", "resume": "{session}"}]},
    ),
    "get_subagent_output": ({"sessionId": "{session}"},),
    "get_subagent_session": ({"sessionId": "{session}"},),
    "list_subagent_profiles": ({},),
    "subagent": ({"preset": "steady", "task": "Say hello"},),
    "background_agent": ({"preset": "steady", "task": "Say hello"},),
    "background_agent_status": ({}, {"runId": "{run}"}),
}


def leaf_commands(command: click.Command = app, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The name of every command that does something."""
    context = click.Context(command, info_name="pi-subagents")
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaf_commands(below, (*path, name))


def attempts() -> list[Attempt]:
    """Every way in which the table calls a command or a tool that there is."""
    there = set(leaf_commands())
    found = [attempt for name, ways in COMMANDS.items() if name in there for attempt in ways]
    for tool, calls in CALLS.items():
        if tool in TOOLS:
            found += [Attempt(("call", tool, json.dumps(arguments))) for arguments in calls]
    return found


def not_attempted() -> list[str]:
    """Commands and tools that nobody has written down here."""
    commands = [name for name in leaf_commands() if name not in COMMANDS]
    return commands + [f"call {name}" for name in TOOLS if name not in CALLS]


def name_of(attempt: Attempt) -> str:
    return " ".join(attempt.argv)[:60]


def carry_out(victim: Victim, attempt: Attempt, session: str, run: str) -> Done:
    """Run the command as the table says."""
    words = attempt.words(session, run, str(victim.scratch))
    if attempt.typed:
        return victim.run_at_terminal(*words, shown=attempt.shown, typed=attempt.typed)
    done = victim.run(*words, stdin=attempt.stdin)
    if "background" in " ".join(words[:2]):
        victim.until_alone()
    return done
