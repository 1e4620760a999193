"""Naming agents and models on the command line: either kind is found, and nothing starts if something is missing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.offline import Say, Script
from tests.kit.command import argv
from tests.kit.workplace import Workplace
from tests.pi.stage import Play
from tests.surfaces.cli.desk import Desk

MODEL = "offline/scripted"


def argv_of(place: Workplace) -> list[str]:
    argv: list[str] = json.loads((place.run_dirs[-1] / "meta.json").read_bytes())["argv"]
    return argv


def following(argv: list[str], option: str) -> str | None:
    return argv[argv.index(option) + 1] if option in argv else None


def test_the_examples_work_as_they_are_copied(play: Play) -> None:
    stage = play(Script().otherwise([Say("Mapped.")]))
    assert stage.command("init", "--presets").returncode == 0
    done = stage.command("background", "start", "scout", "Map src/")
    assert done.returncode == 0
    assert f'"scout" has no model: using {MODEL}, pi\'s default' in done.stderr
    assert stage.command("background", "wait").returncode == 0
    assert following(argv_of(stage), "--model") == MODEL
    assert stage.command("run", "-p", "scout", "Map src/").stdout.count("Mapped.") == 1


def test_a_profile_works_in_the_background_with_its_own_prompt(play: Play) -> None:
    stage = play(Script().otherwise([Say("Fine.")]))
    stage.write_profile("reviewer", body="You review.")
    assert stage.command("background", "start", "reviewer", "Look").returncode == 0
    assert stage.command("background", "wait").returncode == 0
    (request,) = stage.model.requests
    assert request.system_text.startswith("You review.")
    assert "reviewer" in stage.command("background", "list").stdout


def test_a_model_and_a_thinking_level_can_be_chosen_without_a_profile_and_are_those_of_the_session(desk: Desk) -> None:
    done = desk.call("run", "--model", "large", "--thinking", "low", "Go")
    assert done.exit_code == 0, done.err
    assert (following(argv_of(desk), "--model"), following(argv_of(desk), "--thinking")) == ("acme/large", "low")
    session = desk.run_dirs[-1].name.rpartition("-")[2]
    assert desk.run("resume", session, "Go on").exit_code == 0
    assert len(desk.run_dirs) == 2
    assert following(argv_of(desk), "--thinking") == "low"


def test_a_task_file_chooses_agent_model_and_thinking_for_each_task(desk: Desk) -> None:
    desk.write_preset("scout", body="You scout.")
    task = {"name": "a", "prompt": "Go", "preset": "scout", "model": "acme/large", "thinkingLevel": "high"}
    path = desk.write("tasks.json", json.dumps([task]))
    done = desk.call("run", "--thinking", "low", "--tasks", str(path))
    assert done.exit_code == 0, done.err
    assert following(argv_of(desk), "--thinking") == "high"
    assert "You scout." in (desk.run_dirs[-1] / "system-prompt.md").read_text()


def test_everything_that_is_missing_is_told_at_once_and_nothing_is_recorded(play: Play) -> None:
    stage = play(Script())
    stage.write_profile("reviewer", "tools: [read, grpe]", "model: offline/scrpted")
    stage.write_profile("skilled", "loadSkills: [web-serch]")
    stage.write_skill("web-search", "Search.")
    stage.write("notes.md", "x")
    tasks = [
        {"name": "a", "prompt": "x", "profile": "revewer"},
        {"name": "b", "prompt": "x", "profile": "reviewer", "files": ["note.md"]},
        {"name": "c", "prompt": "x", "profile": "skilled", "cwd": "/no/where"},
        {"name": "d", "prompt": "x", "thinkingLevel": "high", "model": "offline/scriptd"},
        {"name": "fine", "prompt": "x"},
    ]
    done = stage.command("run", "--tasks", str(stage.write("tasks.json", json.dumps(tasks))))
    assert (done.returncode, done.stdout) == (2, "")
    reviewer = stage.project / ".pi" / "agent-profiles" / "reviewer.md"
    assert done.stderr.splitlines() == [
        "error: nothing was started:",
        '  a: Unknown profile: "revewer". Available profiles: reviewer, skilled. Did you mean "reviewer"?',
        f'  b: Unknown model: "offline/scrpted". Did you mean "{MODEL}"? Available models: {MODEL}',
        '  b: file not found: note.md. Did you mean "notes.md"?',
        f'  b: Unknown tool: "grpe" in "tools" of {reviewer}. Did you mean "grep"?',
        '  c: Unknown skills: "web-serch". Available skills: web-search. Did you mean "web-search"?',
        "  c: cwd does not exist: /no/where",
        f'  d: Unknown model: "offline/scriptd". Did you mean "{MODEL}"? Available models: {MODEL}',
    ]
    assert stage.run_dirs == []
    assert stage.model.requests == []


def test_what_concerns_every_task_is_said_once(play: Play) -> None:
    stage = play(Script())
    done = stage.command("run", "-p", "nobody", "one", "two")
    assert done.returncode == 2
    assert done.stderr == 'error: Unknown profile: "nobody". Available profiles: (none)\n'


def test_who_mistypes_a_name_is_told_of_both_kinds_and_of_a_mistyped_model_or_a_directory_too(play: Play) -> None:
    stage = play(Script())
    stage.write(".pi/subagents/scout.md", "---\nname: scout\ndescription: Looks.\n---\nYou scout.\n")
    stage.write("src/a.py", "")
    done = stage.command("run", "-p", "scuot", "--model", "offline/scriptd", "--files", "src", "Look")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: nothing was started:",
        '  Unknown profile: "scuot". Available profiles: (none). Available presets: scout. Did you mean "scout"?',
        f'  Unknown model: "offline/scriptd". Did you mean "{MODEL}"? Available models: {MODEL}',
        "  could not read file: src. It is a directory; list its files instead.",
    ]


def test_a_tool_that_an_extension_may_bring_is_not_called_unknown(desk: Desk) -> None:
    desk.write_profile("searcher", "tools: [read, web_search]")
    assert desk.call("run", "-p", "searcher", "Go").exit_code == 2
    desk.write(str(desk.agent_dir / "extensions" / "web.ts"), "export default function () {}\n")
    assert desk.call("run", "-p", "searcher", "Go").exit_code == 0


def test_a_misspelled_exclusion_is_found_because_it_would_exclude_nothing(desk: Desk) -> None:
    desk.write_profile("careful", "excludeTools: [bsh]")
    done = desk.call("run", "-p", "careful", "x")
    assert done.exit_code == 2
    assert 'Unknown tool: "bsh" in "excludeTools"' in done.err


def test_who_chooses_an_agent_that_cannot_use_the_profile_is_told_what_to_do(desk: Desk) -> None:
    desk.write_profile("fixer", "agent: claude", "approvals: allow")
    done = desk.call("run", "-p", "fixer", "--agent", "codex", "x")
    assert (done.exit_code, done.err) == (
        2,
        'error: Profile "fixer" sets "approvals" for claude, so codex cannot use it. It was written for claude: choose '
        "another profile with -p, or leave out --agent.\n",
    )


@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_all_tools_that_another_agent_does_not_have_are_told_at_once(desk: Desk, agent: str) -> None:
    desk.write_profile("fixer", f"agent: {agent}", "tools: [raed, grep]", "loadSkills: [web-serch]")
    done = desk.call("run", "-p", "fixer", "x")
    assert done.exit_code == 2
    assert f'Profile "fixer" names "raed" in "tools", which {agent} does not have. Did you mean "read"?' in done.err
    assert 'Unknown skills: "web-serch"' in done.err


def test_a_model_is_told_that_its_task_names_a_tool_that_the_agent_does_not_have(desk: Desk) -> None:
    desk.write_profile("fixer", "agent: opencode", "tools: [raed]")
    task = {"tasks": [{"name": "t", "prompt": "x", "profile": "fixer"}]}
    answer = desk.call("call", "delegate_to_subagents", json.dumps(task)).out
    assert "which opencode does not have" in answer


def test_agents_lists_both_kinds(desk: Desk) -> None:
    desk.write_profile("reviewer", "provider: acme", "model: large")
    done = desk.call("agents", "--json")
    rows = [(row["name"], row["kind"], row["scope"], row["model"], row["description"]) for row in done.json()]
    assert rows == [
        ("deaf", "preset", "project", "acme/large", "Works."),
        ("reviewer", "profile", "project", "acme/large", None),
        ("worker", "preset", "project", "acme/large", "Works."),
    ]
    words = [line.split() for line in desk.call("agents").out.splitlines()]
    assert words[:2] == [
        ["name", "kind", "scope", "model", "description"],
        ["deaf", "preset", "project", "acme/large", "Works."],
    ]


def test_a_name_that_a_profile_and_a_preset_share_is_said_to_be_two(desk: Desk) -> None:
    desk.write_profile("worker")
    told = desk.call("agents").err
    assert told == (
        'hint: a profile and a preset share a name: "worker"; '
        "'run -p' uses the profile, 'background start' the preset\n"
    )


def test_models_lists_what_pi_offers_and_marks_its_default(play: Play) -> None:
    stage = play(Script())
    assert stage.command("models").stdout == f"{MODEL}  (default)\n"
    assert json.loads(stage.command("models", "--json", "script").stdout) == {"models": [MODEL], "default": MODEL}
    done = stage.command("models", "scriptd")
    assert (done.returncode, done.stdout) == (1, "")
    assert f'Did you mean "{MODEL}"?' in done.stderr
    none = stage.command("models", "--json", "scriptd")
    assert (none.returncode, json.loads(none.stdout)) == (1, {"models": [], "default": MODEL})


@pytest.mark.parametrize("option", ["--model", "--thinking"])
def test_what_cannot_be_chosen_is_refused_before_anything_starts(play: Play, option: str) -> None:
    stage = play(Script())
    assert stage.command("run", option, "hgh", "Go").returncode == 2
    assert stage.run_dirs == []


def test_the_provider_that_an_agent_names_is_kept(play: Play) -> None:
    stage = play(Script())
    stage.write_profile("elsewhere", "provider: anthropic")
    done = stage.command("background", "start", "elsewhere", "Go")
    assert done.returncode == 2
    assert 'No model resolved for preset "elsewhere"' in done.stderr
    assert stage.run_dirs == []


def test_what_is_said_for_all_counts_for_the_tasks_of_a_file_too(desk: Desk) -> None:
    desk.write("notes.md", "Note well.")
    tasks = [{"name": "a", "prompt": "Go"}, {"name": "b", "prompt": "Go", "timeout": 50}]
    path = desk.write("tasks.json", json.dumps(tasks))
    done = desk.call("run", "--json", "--tasks", str(path), "--files", "notes.md", "--timeout", "2m")
    # The scripted agent answers with what it was told.
    assert {result["output"] for result in done.json()} == {"=== notes.md ===\nNote well.\n\nGo"}
    metas = [json.loads((folder / "meta.json").read_bytes()) for folder in desk.run_dirs]
    assert {meta["name"]: meta["timeout"] for meta in metas} == {"a": 120, "b": 50}


def test_nothing_is_made_for_answers_of_tasks_that_cannot_start(play: Play) -> None:
    stage = play(Script())
    assert stage.command("run", "-o", "answers", "-p", "nobody", "Go").returncode == 2
    assert not (stage.project / "answers").exists()


def test_where_answers_are_is_said_though_they_cannot_be_printed(desk: Desk) -> None:
    with Path("/dev/full").open("w") as full:
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": full, "stderr": subprocess.PIPE, "text": True}
        done = subprocess.run(argv("run", "Go"), cwd=desk.project, env=desk.environ, check=False, **given)
    assert done.returncode == 1
    assert desk.run_dirs[0].name.rpartition("-")[2][:8] in done.stderr
    assert "No space left on device" in done.stderr
