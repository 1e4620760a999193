"""JSON at a terminal: every command that prints it escapes what a terminal would obey, and says the same as before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from pi_subagents.surfaces.cli.app import app
from pi_subagents.testing import MODELS_VARIABLE, answer, prints, script
from pi_subagents.text.harmless import escape_json
from tests.security.commands import leaf_commands
from tests.security.kit import MODEL, Done, Victim
from tests.security.things import GIT, NEIGHBOUR, NEIGHBOUR_SESSION, RUNS, below, finished

HOSTILE = "a\x1b[2J\x7f\x85\x9b31m\xad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202e\u2060\u2066\ufeffz"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
WORD = "".join(HOSTILE.split())
"""The same for a name of a model, which has no spaces."""
SAYS = script(prints(*answer(HOSTILE)))
TASK = {"name": HOSTILE, "prompt": SAYS}

PRINTING_JSON: dict[str, tuple[str, ...]] = {
    "run": (SAYS,),
    "background start": ("steady", HOSTILE),
    "background list": ("--all",),
    "background status": (NEIGHBOUR,),
    "background wait": (NEIGHBOUR,),
    "agents": (),
    "models": (),
    "sessions list": (),
    "sessions show": (NEIGHBOUR_SESSION,),
    "sessions output": (NEIGHBOUR_SESSION,),
    "sessions resume": (NEIGHBOUR_SESSION, SAYS),
    "profile list": (),
    "profile show": ("odd",),
    "preset list": (),
    "preset show": ("odd",),
    "doctor": (),
    "install mcp": ("--client", "claude", "--scope", "project"),
    "install pi": ("--project", "--dry-run"),
    "uninstall mcp": ("--client", "claude", "--scope", "project"),
    "uninstall pi": ("--project",),
    "trust": (),
}
PRINTING_NOTHING_OF_OTHERS = {"conformance": "its projects, agents and records are its own"}
CALLS: dict[str, dict[str, Any]] = {
    "delegate_to_subagents": {"tasks": [TASK]},
    "get_subagent_output": {"sessionId": NEIGHBOUR_SESSION},
    "get_subagent_session": {"sessionId": NEIGHBOUR_SESSION},
    HOSTILE: {},
}


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Victim]:
    """Somebody in a project with hostile texts in its name, its agents and its records."""
    victim = Victim(tmp_path, HOSTILE, environ_more={MODELS_VARIABLE: f"{MODEL} acme/{WORD}"})
    agent = f"---\nname: odd\ndescription: {json.dumps(HOSTILE)}\n---\n{HOSTILE}\n"
    record = finished(NEIGHBOUR, HOSTILE, name=HOSTILE, cwd=str(victim.clone), background=True, owner="cli")
    victim.receives({**GIT, **below(f"{RUNS}/{NEIGHBOUR}", record)})
    victim.receives({f".pi/{folder}/odd.md": agent for folder in ("agent-profiles", "subagents")})
    victim.run("trust")
    yield victim
    victim.until_alone()


def require_same_and_harmless(done: Done, text: str = HOSTILE) -> None:
    assert not OBEYED.findall(done.out), str(done)
    try:
        said = done.json()
    except ValueError:
        said = [json.loads(line) for line in done.out.splitlines()]
    assert any(text in found for found in texts_in(said)), str(done)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def takes_json(name: str) -> bool:
    command: click.Command | None = app
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return any("--json" in option.opts for option in command.params)


def test_every_command_that_prints_json_is_tried() -> None:
    assert {name for name in leaf_commands() if takes_json(name)} == {*PRINTING_JSON, *PRINTING_NOTHING_OF_OTHERS}


@pytest.mark.parametrize("name", PRINTING_JSON)
def test_a_command_prints_hostile_texts_as_harmless_json_with_the_same_value(name: str, visitor: Victim) -> None:
    done = visitor.run(*name.split(), "--json", *PRINTING_JSON[name])
    require_same_and_harmless(done, WORD if name == "models" else HOSTILE)


@pytest.mark.parametrize("tool", CALLS, ids=ascii)
def test_a_call_prints_hostile_texts_as_harmless_json_with_the_same_value(tool: str, visitor: Victim) -> None:
    require_same_and_harmless(visitor.run("call", tool, json.dumps(CALLS[tool])))


@pytest.mark.parametrize("server", ["bridge", "mcp"])
def test_a_server_answers_with_harmless_json_of_the_same_value(server: str, visitor: Victim) -> None:
    question = {"jsonrpc": "2.0", "id": HOSTILE, "method": "ping", "params": {}}
    require_same_and_harmless(visitor.asks(server, json.dumps(question).encode() + b"\n"))


def test_escaping_a_document_changes_no_value() -> None:
    every = "".join(chr(code) for code in range(0x11000) if not 0xD800 <= code <= 0xDFFF) + "\\" + HOSTILE
    escaped = escape_json(json.dumps({every: every}, ensure_ascii=False))
    assert json.loads(escaped) == {every: every}
    assert not OBEYED.findall(escaped)
