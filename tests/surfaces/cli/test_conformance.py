"""`conformance`: runs the stories with an agent program, and exits with 1 if one does not hold."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from pi_subagents.conformance import STORIES, Result, Verdict
from pi_subagents.harness import Program
from pi_subagents.surfaces.cli.conformance import _print_result
from tests.agents import impatient
from tests.surfaces.cli.desk import Desk


def test_a_program_that_does_what_it_must_is_told_so(desk: Desk, pi: Program) -> None:
    done = desk.command("conformance", "--agent", "pi", "--program", shlex.join(pi.argv), "--story", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"✓  1  {STORIES[0].title}\n\n1 of 1 stories hold\n"


def test_a_program_that_does_nothing_breaks_every_story_and_the_exit_code_says_so(desk: Desk) -> None:
    done = desk.command("conformance", "--agent", "claude", "--program", "false", "--story", "1", "--story", "9")
    assert done.returncode == 1
    assert "✗  1  A plain answer becomes the run's answer: the run is failed" in done.stdout
    assert "✗  9  " in done.stdout, "what is known of an agent excuses nothing else"
    assert "0 of 2 stories hold; not as expected: 2" in done.stdout


def test_a_known_exception_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    story = STORIES[27]
    _print_result(Result(story, Verdict.EXCEPTED, "it leaves an empty directory in /tmp"))
    assert capsys.readouterr().out == f"- 28  {story.title} – except: it leaves an empty directory in /tmp\n"


def test_a_relative_program_is_seen_from_where_the_command_is_run(desk: Desk, pi: Program) -> None:
    (desk.project / "tested").symlink_to(pi.argv[0])
    done = desk.command("conformance", "--agent", "pi", "--program", "./tested", "--story", "1")
    assert done.returncode == 0, done.stdout


def test_a_program_that_is_no_command_is_an_error_in_words(desk: Desk) -> None:
    done = desk.command("conformance", "--agent", "pi", "--program", 'a "b')
    assert done.returncode == 2
    assert "'a \"b' is not a command (No closing quotation)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_that_never_calls_its_tools_breaks_stories_one_by_one(desk: Desk) -> None:
    agent = f"{shlex.quote(sys.executable)} {shlex.quote(impatient.__file__)}"
    done = desk.command("conformance", "--agent", "gemini", "--program", agent, "--story", "9", "--story", "13")
    assert done.returncode == 1
    assert [line[:5] for line in done.stdout.splitlines()[:2]] == ["✗  9 ", "✗ 13 "]
    assert "Traceback" not in done.stderr


def test_programs_get_one_document(desk: Desk) -> None:
    done = desk.command("conformance", "--agent", "claude", "--program", "false", "--story", "2", "--json")
    told = json.loads(done.stdout)
    assert (told["agent"], told["program"], done.returncode) == ("claude", ["false"], 1)
    (story,) = told["stories"]
    assert (story["number"], story["title"], story["verdict"]) == (2, STORIES[1].title, "broken")
    assert "the run is failed" in story["reason"]


def test_an_agent_that_is_not_here_is_an_error_that_says_how_to_get_it(desk: Desk) -> None:
    done = desk.command("conformance", "--agent", "codex", "--story", "1")
    assert done.returncode == 1
    assert "install-agent codex" in done.stderr
