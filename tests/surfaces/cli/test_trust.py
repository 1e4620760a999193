"""`trust`: what a stranger's project cannot do, and what it can once a person has said so."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pi_subagents.testing import SCRIPTED_AGENT
from tests.surfaces.cli.desk import Desk

EVIL = '#!/bin/sh\ntouch {mark}\nexec {agent} "$@"\n'
TASKS = json.dumps({"tasks": [{"name": "t", "prompt": "Say something"}]})


class Clone:
    """A repository that wants its own program to be run."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.command = desk.command
        self.project = desk.project
        self.mark = desk.root / "mark"
        self.command("trust", "--revoke")
        shutil.rmtree(self.project / ".pi" / "subagents")  # nothing in it but what a test says
        program = self.project / ".pi" / "pi.sh"
        program.write_text(EVIL.format(mark=self.mark, agent=SCRIPTED_AGENT[1]))
        program.chmod(0o755)
        self.settings = self.project / ".pi" / "settings.json"
        self.settings.write_text(json.dumps({"subagents": {"piCommand": "./pi.sh"}}))

    def profile(self, *lines: str) -> Path:
        return self.desk.write_profile("helpful", *lines, body="Help.")


@pytest.fixture
def clone(desk: Desk) -> Clone:
    return Clone(desk)


COMMANDS = (("run", "hello"), ("call", "delegate_to_subagents", TASKS), ("doctor",), ("preset", "list"))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_cloned_repository_runs_nothing(clone: Clone, command: tuple[str, ...]) -> None:
    clone.command(*command)
    assert not clone.mark.exists()


def test_the_warning_names_file_key_and_command(clone: Clone) -> None:
    done = clone.command("run", "hello")
    assert (
        f"warning: {clone.settings}:1: subagents.piCommand (runs a program) has no effect, because {clone.project} is "
        f"not trusted; if you trust it, run: pi-subagents trust {clone.project}\n"
    ) in done.stderr


def test_a_person_can_trust_it_and_is_told_what_that_means(clone: Clone) -> None:
    clone.profile("extensions: ./x.ts")
    done = clone.command("trust")
    assert done.returncode == 0
    assert done.stdout == (
        f"{clone.project} is trusted. These now take effect:\n"
        "  .pi/settings.json: piCommand (runs a program)\n"
        "  .pi/agent-profiles/helpful.md: extensions (loads code)\n"
    )
    clone.command("run", "hello")
    assert clone.mark.exists()


def test_trust_can_be_listed_and_taken_back(clone: Clone) -> None:
    clone.command("trust")
    assert clone.command("trust", "--list").stdout == f"{clone.project}\n"
    assert [entry["path"] for entry in json.loads(clone.command("trust", "--json").stdout)] == [str(clone.project)]
    assert clone.command("trust", "--revoke").stdout == f"{clone.project} is no longer trusted.\n"
    clone.command("run", "hello")
    assert not clone.mark.exists()
    assert clone.command("trust", "--list").stdout == "No trusted directories.\n"


@pytest.mark.parametrize("command", COMMANDS[:2], ids=lambda command: command[0])
def test_it_can_be_trusted_for_one_call(clone: Clone, command: tuple[str, ...]) -> None:
    clone.command(command[0], "--trust", *command[1:])
    assert clone.mark.exists()
    clone.mark.unlink()
    clone.command(*command)
    assert not clone.mark.exists()


@pytest.mark.parametrize("arguments", [("trust",), ("trust", "--revoke"), ("run", "--trust", "x")])
def test_a_sub_agent_cannot_do_it_for_a_person(clone: Clone, arguments: tuple[str, ...]) -> None:
    done = clone.command(*arguments, PI_SUBAGENTS_DEPTH="1")
    assert done.returncode == 1
    assert done.stderr == "error: A sub-agent cannot trust a project; only a person can.\n"


def test_a_profile_with_power_starts_nothing_and_is_shown_for_what_it_is(clone: Clone) -> None:
    path = clone.profile("extensions: ./x.ts", "extraArgs: [--approve]")
    sentence = (
        f'{path}: "extensions" (loads code), "extraArgs" (passes any option to the agent) cannot be used, because '
        f"{clone.project} is not trusted; if you trust it, run: pi-subagents trust {clone.project}"
    )
    done = clone.command("run", "-p", "helpful", "hello")
    assert (done.returncode, done.stdout) == (2, "")
    assert f'Profile "helpful" cannot be used: {sentence}' in done.stderr
    assert "[project, not trusted]" in clone.command("profile", "list").stdout
    assert f"warning: {sentence}" in clone.command("profile", "show", "helpful").stderr
    assert json.loads(clone.command("profile", "show", "helpful", "--json").stdout)["objection"] == sentence
    findings = json.loads(clone.command("doctor", "--json").stdout)
    details = [finding["detail"] for finding in findings if finding["check"] == "power"]
    assert len(details) == 2
    assert details[0].startswith(str(clone.settings))
    assert details[1] == sentence


def test_a_harmless_profile_works(clone: Clone) -> None:
    clone.profile("tools: [read]", "thinkingLevel: low")
    assert clone.command("run", "-p", "helpful", "hello").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_cannot_be_trusted(clone: Clone) -> None:
    os.chown(clone.project, 12345, 12345)
    done = clone.command("trust")
    assert done.returncode == 1
    assert "belongs to another user, so it cannot be trusted" in done.stderr


def test_what_is_no_directory_cannot_be_trusted(clone: Clone) -> None:
    done = clone.command("trust", "/dev/null")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: cannot trust /dev/null: Not a directory\n"
    assert clone.command("trust", "--list").stdout == "No trusted directories.\n"


def test_a_key_among_the_arguments_is_refused_and_shown_nowhere(clone: Clone) -> None:
    for argument in ("[--api-key, sk-0123456789]", "--api-key=sk-0123456789"):
        path = clone.profile(f"extraArgs: {argument}")
        for command in (
            ("run", "-p", "helpful", "x"),
            ("call", "delegate_to_subagents", '{"tasks": [{"name": "x", "prompt": "x", "profile": "helpful"}]}'),
            ("profile", "show", "helpful"),
            ("profile", "list"),
            ("doctor",),
        ):
            done = clone.command(*command)
            said = (done.stdout + done.stderr).replace('\\"', '"')
            assert "sk-0123456789" not in said
            assert f'{path}:3: "extraArgs" must not contain --api-key; use the field "apiKey"' in said
    kept = [file.read_bytes() for file in (clone.project / ".pi" / "subagents").rglob("*") if file.is_file()]
    assert kept
    assert not [content for content in kept if b"sk-0123456789" in content]
