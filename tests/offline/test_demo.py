"""The demo's play, performed without an agent: the script is asked, and simple tools answer its calls."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.offline import (
    DEMO_PROFILES,
    DEMO_TASKS,
    Call,
    DemoTask,
    Turn,
    demo_script,
    suits_demo,
    write_sample_project,
)
from pi_subagents.offline.demo import entries, first_heading, largest_file, matches_per_file, setting
from pi_subagents.offline.protocol import ChatCompletions
from pi_subagents.offline.script import Player
from tests.kit.waiting import PATIENCE_S
from tests.offline.client import assistant, request_of, tool_result, user

Tool = Callable[[Path, dict[str, Any]], str]
SEARCH_FAILED = "ripgrep (rg) is not available and could not be downloaded"


def read(project: Path, arguments: dict[str, Any]) -> str:
    return (project / str(arguments["path"])).read_text(encoding="utf-8")


def ls(project: Path, arguments: dict[str, Any]) -> str:
    paths = sorted((project / arguments["path"]).iterdir())
    return "\n".join(path.name + "/" * path.is_dir() for path in paths)


def grep(project: Path, arguments: dict[str, Any]) -> str:
    root = project / arguments["path"]
    files = [root] if root.is_file() else sorted(root.rglob(arguments["glob"]))
    found = [
        f"{path.relative_to(root) if root.is_dir() else path.name}:{number}: {line}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(arguments["pattern"], line)
    ]
    return "\n".join(found) or "No matches found"


def bash(project: Path, arguments: dict[str, Any]) -> str:
    return subprocess.run(
        arguments["command"], shell=True, cwd=project, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    ).stdout


TOOLS: dict[str, Tool] = {"read": read, "ls": ls, "grep": grep, "bash": bash}


def perform(task: DemoTask, project: Path, tools: dict[str, Tool] = TOOLS) -> tuple[list[Turn], list[Call]]:
    """All turns of a task, the last being its answer, and the calls they made."""
    player, messages = Player(demo_script()), [user(f"Context.\n\n{task.prompt}\n")]
    turns: list[Turn] = []
    while not turns or turns[-1].calls:
        turn = player.answer(request_of(*messages))
        assert isinstance(turn, Turn)
        turns.append(turn)
        asked = [(f"c{len(turns)}-{index}", call) for index, call in enumerate(turn.calls)]
        functions = [
            {"id": key, "function": {"name": call.tool, "arguments": json.dumps(dict(call.arguments))}}
            for key, call in asked
        ]
        messages.append(assistant(turn.text, functions))
        messages += [tool_result(key, tools[call.tool](project, dict(call.arguments))) for key, call in asked]
    return turns, [call for turn in turns for call in turn.calls]


def frontmatter(profile: str) -> dict[str, str]:
    lines = profile.split("---\n")[1].splitlines()
    return dict(line.split(": ", 1) for line in lines)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_sample_project(tmp_path / "sample")


def test_three_tasks_share_two_profiles() -> None:
    assert len(DEMO_TASKS) == len({task.name for task in DEMO_TASKS}) == 3
    assert {task.profile for task in DEMO_TASKS} == set(DEMO_PROFILES)
    assert len(DEMO_PROFILES) == 2


@pytest.mark.parametrize("name", DEMO_PROFILES)
def test_a_profile_file_bears_its_own_name_and_leaves_the_model_to_the_user(name: str) -> None:
    fields = frontmatter(DEMO_PROFILES[name])
    assert fields["name"] == name
    assert not {"provider", "model", "apiKey"} & set(fields)


@pytest.mark.parametrize("task", DEMO_TASKS, ids=lambda task: task.name)
def test_a_task_calls_only_tools_that_its_profile_allows(task: DemoTask, project: Path) -> None:
    allowed = set(re.findall(r"\w+", frontmatter(DEMO_PROFILES[task.profile])["tools"]))
    _, calls = perform(task, project)
    assert {call.tool for call in calls} <= allowed


def test_the_demo_shows_all_four_tools(project: Path) -> None:
    calls = [call for task in DEMO_TASKS for call in perform(task, project)[1]]
    assert {call.tool for call in calls} == {"read", "ls", "grep", "bash"}


def test_answers_quote_what_the_tools_found(project: Path) -> None:
    overview, errors, sizes = (perform(task, project)[0][-1].text for task in DEMO_TASKS)
    assert "Tea timer" in overview
    assert "tea-timer" in overview
    assert "tea_timer/" in overview
    assert "3 places in 2 files" in errors
    assert "src/tea_timer/kinds.py: 2" in errors
    assert "src/tea_timer/__main__.py, 18 lines" in sizes
    assert ">=3.11" in sizes


def test_answers_follow_the_files_instead_of_a_memory_of_them(project: Path) -> None:
    shutil.move(project / "src" / "tea_timer" / "kinds.py", project / "src" / "tea_timer" / "leaves.py")
    errors = perform(DEMO_TASKS[1], project)[0][-1].text
    assert "src/tea_timer/leaves.py: 2" in errors


@pytest.mark.parametrize("task", DEMO_TASKS, ids=lambda task: task.name)
def test_a_tool_that_fails_does_not_spoil_the_play(task: DemoTask, project: Path) -> None:
    broken: dict[str, Tool] = {name: lambda project, arguments: SEARCH_FAILED for name in TOOLS}
    turns, _ = perform(task, project, broken)
    assert len(turns) == 3
    assert turns[-1].text


def test_a_search_that_failed_is_not_sold_as_no_match(project: Path) -> None:
    broken: dict[str, Tool] = {**TOOLS, "grep": lambda project, arguments: SEARCH_FAILED}
    assert SEARCH_FAILED in perform(DEMO_TASKS[1], project, broken)[0][-1].text


@pytest.mark.parametrize("task", DEMO_TASKS, ids=lambda task: task.name)
def test_the_play_takes_long_enough_to_watch_and_not_longer(task: DemoTask, project: Path) -> None:
    turns, _ = perform(task, project)
    frames = [frame for turn in turns for frame in ChatCompletions().turn(turn, request_of(user("x")))]
    assert 6 < sum(frame.pause_s for frame in frames) < 9
    assert max(frame.pause_s for frame in frames) < 0.5


def test_an_unknown_question_is_answered_too() -> None:
    answer = Player(demo_script()).answer(request_of(user("What is the weather like?")))
    assert isinstance(answer, Turn)
    assert "demo" in answer.text


def test_the_sample_project_suits_the_demo_and_an_empty_directory_does_not(project: Path, tmp_path: Path) -> None:
    assert suits_demo(project)
    assert not suits_demo(tmp_path)


def test_the_sample_project_is_real_python(project: Path) -> None:
    for path in project.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")


def test_a_listing_leaves_out_hidden_names_and_stays_short() -> None:
    assert entries(".git/\nREADME.md\nsrc/\n\n[500 entries limit]") == ["README.md", "src/"]
    assert len(entries("\n".join(f"f{number}" for number in range(40)))) == 13


def test_the_first_heading_is_found_below_other_lines() -> None:
    assert first_heading("[badge]\n\n## Tea  \n\n# Coffee") == "Tea"
    assert first_heading("no such file") == "a project without a heading"


def test_a_setting_is_read_from_a_file_and_from_a_quoted_line() -> None:
    assert setting("name", '[project]\nname = "tea"\n') == "tea"
    assert setting("name", 'pyproject.toml:2: name = "tea"') == "tea"
    assert setting("name", 'filename = "x"') == "(not stated)"


def test_matches_are_counted_per_file_with_most_first() -> None:
    search = 'a.py:3:     raise X("b.py:1: no")\np/b.py:1: raise\np/b.py:9: raise\n\n[Some lines truncated]'
    assert matches_per_file(search) == [("p/b.py", 2), ("a.py", 1)]
    assert matches_per_file("ripgrep (rg) is not available") == []


def test_the_largest_file_is_not_the_total() -> None:
    assert largest_file(" 300 total\n  200 src/a b.py\n  100 src/c.py\n") == ("src/a b.py", 200)
    assert largest_file("0 total") is None
