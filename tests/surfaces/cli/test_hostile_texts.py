"""Whatever a project writes into its files and names, no command lets a terminal obey it: every command is tried."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import click
import pytest

from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.surfaces.cli.app import app
from pi_subagents.testing import answer, prints, script
from tests.kit.sessions import Shelf, call, returns, says, was_told
from tests.kit.workplace import Workplace
from tests.surfaces.cli.forked_commands import NOT_RUN, Ended, Trouble, leaves, run_all

TEXT = "\x1b]0;title\x07\x1b[2J\x1b]8;;http://e.x\x07link\x9b31m\x1b[8m\r\u202eabc\u2066\u200b\x00\x7f\x85"
NAME = TEXT.replace("\x00", "").replace("/", "") + "\nFORGED"
"""For what is shown within a line: a line of its own must not come of it."""
SESSION = "a3f7b9c2d1e8f4a1"

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u180e\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff]")
CONCEALED = "\x1b[8m"
OUR_OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?(?:25|2026)[hl]|\x1b\[\d*A|\x1b\[(?:2K|J)|\r+(?=[\n\x1b])")
"""Colours, and what the windows of a live view are drawn with."""
COMMANDS = dict(leaves(app))
# What a command is told besides nothing at all and besides hostile words.
SENSIBLE: dict[tuple[str, ...], list[list[str]]] = {
    ("run",): [["--plain", script(prints(*answer(TEXT)))], ["--plain", "-p", "odd", NAME], ["--json", NAME]],
    ("call",): [
        ["list_subagent_profiles"],
        ["get_subagent_output", json.dumps({"sessionId": SESSION})],
        ["get_subagent_session", json.dumps({"sessionId": SESSION})],
        ["subagent", json.dumps({"preset": NAME, "task": NAME})],
        ["background_agent_status"],
        ["delegate_to_subagents", json.dumps({"tasks": [{"name": NAME, "prompt": script(prints(*answer(TEXT)))}]})],
    ],
    ("profile", "show"): [["good"], ["odd"], ["good", "--json"]],
    ("profile", "create"): [["new", "--model", NAME], ["new", "--from", f".pi/agent-profiles/{NAME}.md"]],
    ("profile", "delete"): [["good", "--yes"]],
    ("preset", "show"): [["good"], ["good", "--json"]],
    ("preset", "new"): [["begun"]],
    ("init",): [["--model", NAME]],
    ("sessions", "export"): [[SESSION], [SESSION, "--format", "html"], [SESSION, "-o", "out.md"]],
    ("sessions", "resume"): [[SESSION, NAME]],
    ("sessions", "delete"): [[SESSION], [NAME]],
    ("sessions", "clean"): [["--keep", "0", "--dry-run"], ["--all", "--keep", "0", "--dry-run"]],
    ("install", "mcp"): [["--client", "claude", "--scope", "project", "--dry-run"]],
    ("uninstall", "mcp"): [["--client", "claude", "--scope", "project"]],
    ("install", "pi"): [["--project", "--dry-run"], ["--project"]],
    ("uninstall", "pi"): [["--project", "--dry-run"], ["--project"]],
    ("background", "start"): [["good", NAME]],
    ("completion",): [["zsh"]],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Everything in it, its own name included, was made by somebody who means harm."""
    project = tmp_path / NAME
    quoted = json.dumps(NAME)
    for folder, extra in (("agent-profiles", ""), ("subagents", f"description: {quoted}\n")):
        for name, text in (
            (NAME, "---\nname: named\n---\n"),
            ("good", f"---\nname: good\n{extra}model: {quoted}\ntools: [{quoted}]\n{quoted}: 1\n---\n{TEXT}\n"),
            ("odd", f"---\nname: odd\n{extra}thinkingLevel: {quoted}\n---\n"),
            (f"b{NAME}", f"---\nname: {quoted}\n{extra}---\n"),
            (f"c{NAME}", f"{TEXT}"),
        ):
            _write(project / ".pi" / folder / f"{name}.md", text)
    _write(project / ".pi" / "skills" / NAME / "SKILL.md", f"---\nname: {quoted}\ndescription: {quoted}\n---\n")
    _write(project / ".pi" / "prompts" / f"{NAME}.md", TEXT)
    settings = {
        "subagents": {
            NAME: NAME,
            "piCommand": NAME,
            "harness": NAME,
            "defaultProfile": NAME,
            "looping_tool_count": NAME,
        }
    }
    _write(project / ".pi" / "settings.json", json.dumps(settings))
    _write(project / ".mcp.json", json.dumps({"mcpServers": {NAME: {}}}, ensure_ascii=False, indent=1))
    manifest = {"protocol": 1, "version": NAME, "bridge": [NAME, "bridge"], "scope": NAME}
    _write(project / ".pi" / "extensions" / "pi-subagents" / "tools.json", json.dumps(manifest))
    _write(project / ".pi" / "extensions" / "pi-subagents" / f"{NAME}.ts", "")
    shelf = Shelf(project, tmp_path / "agent")
    shelf.add(
        was_told(TEXT),
        says(ev.ThinkingPart(TEXT), TEXT, call("1", NAME, **{NAME: TEXT, "path": TEXT, "command": TEXT})),
        returns("1", NAME, TEXT),
        ev.Stderr(text=TEXT),
        session_id=SESSION,
        name=NAME,
        prompt=TEXT,
        profile=NAME,
        message=TEXT,
        ends=Reason.TIMEOUT,
        cwd=project / NAME,
    )
    shelf.close()
    return project


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _calls(words: tuple[str, ...], command: click.Command) -> list[list[str]]:
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    flags = [["--json"]] if any("--json" in one.opts for one in command.params) else []
    hostile = [NAME for _ in arguments]
    known = [SESSION, NAME][: len(arguments)]
    tried = [[], *flags, hostile, [*hostile, NAME], [f"--{NAME}"], known, *([*known, *flag] for flag in flags)]
    return [[*words, *more] for more in (*tried, *SENSIBLE.get(words, []))]


@pytest.mark.parametrize("where", [Trouble.NONE, Trouble.TERMINAL], ids=["pipe", "terminal"])
def test_no_command_prints_what_a_terminal_would_obey(where: Trouble, project: Path, tmp_path: Path) -> None:
    calls: list[tuple[Path, list[str]]] = []
    for words, command in COMMANDS.items():
        if words not in NOT_RUN:
            copy = tmp_path / "-".join(words) / NAME
            shutil.copytree(project, copy)
            calls += [(copy, call) for call in _calls(words, command)]
    for ended in run_all(calls, Workplace(tmp_path).environ, where):
        _require_harmless(ended, where is Trouble.TERMINAL)


def _require_harmless(ended: Ended, terminal: bool) -> None:
    text = ended.text
    if terminal:
        assert CONCEALED not in text
        text = OUR_OWN.sub("", text)
    assert "Traceback" not in text, text
    assert ended.code >= 0, (ended.arguments, ended.code)
    assert not OBEYED.findall(text), (ended.arguments, text)
    forged = [line for line in text.split("\n") if line.startswith("FORGED")]
    typed = any("FORGED" in word for word in ended.arguments)  # then it is the caller's own line
    assert typed or not forged, (ended.arguments, text)


def test_the_log_is_harmless_too(project: Path, tmp_path: Path) -> None:
    calls = [(project, ["-vv", "doctor"]), (project, ["-vv", "sessions", "list"])]
    for ended in run_all(calls, Workplace(tmp_path).environ):
        _require_harmless(ended, terminal=False)
