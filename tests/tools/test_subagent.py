"""`subagent`, as a model sees it; its agents are stand-ins that play their task as a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.harness.pi.programs import LOGIN
from pi_subagents.models.event import Ended, Event
from pi_subagents.progress import ProgressWords
from pi_subagents.runs.sessions import Sessions
from pi_subagents.testing import MODELS_VARIABLE, answer, assistant, prints, script, tool_call
from pi_subagents.testing.agent import complains, pauses, touches, waits_for
from pi_subagents.tools import Progress, RunOver, ToolContext, ToolResult, Update, call_tool
from tests.kit.waiting import PATIENCE_S, until_async
from tests.kit.workplace import Workplace

MODELS = "acme/large acme/small zoo/small zoo/tiger"
OnUpdate = Callable[[dict[str, Any]], None]


class Desk(Workplace):
    """A project with the preset `scout`, and what `subagent` makes of a call there."""

    async def subagent(self, on_update: OnUpdate | None = None, **arguments: Any) -> ToolResult:
        def take(progress: Progress) -> None:
            if on_update is not None and isinstance(progress, Update):
                on_update(progress.details())

        return await self.tool("subagent", context=ToolContext(self.place, take), **arguments)

    def meta(self) -> dict[str, Any]:
        """What the record of the latest run says."""
        document: dict[str, Any] = json.loads((self.run_dirs[-1] / "meta.json").read_bytes())
        return document


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path, {MODELS_VARIABLE: MODELS})
    desk.write_preset("scout", "model: acme/large")
    return desk


def says(text: str) -> str:
    return script(prints(*answer(text)))


# --- one run ---------------------------------------------------------------------------------------------------


async def test_a_single_run_answers_with_its_final_text_and_details_that_have_everything_about_it(desk: Desk) -> None:
    desk.write_preset("scout", "model: large")
    task = says("Found it.")
    result = await desk.subagent(preset="scout", task=task, model="zoo/TIGER")
    assert (result.text, result.is_error) == ("Found it.", False)
    details = result.details
    (row,) = details["runs"]
    (run_dir,) = desk.run_dirs
    assert details["mode"] == "single"
    asked = {key: row[key] for key in ("preset", "task", "cwd", "requestedModel", "resolvedModel")}
    assert asked == {
        "preset": "scout",
        "task": task,
        "cwd": str(desk.project),
        "requestedModel": "zoo/TIGER",
        "resolvedModel": "zoo/tiger",
    }
    assert (row["status"], row["finalText"], row["error"]) == ("completed", "Found it.", None)
    assert row["runId"] == run_dir.name == row["paths"]["runDir"].rpartition("/")[2]
    assert row["sessionId"] == run_dir.name.rpartition("-")[2]
    files = {str(path) for path in run_dir.iterdir()}
    assert {"meta", "events", "result", "transcript", "session"} <= row["paths"].keys()
    assert set(row["paths"].values()) - {str(run_dir)} <= files
    assert "stderr" not in row["paths"]
    assert row["createdAt"] <= row["startedAt"] <= row["completedAt"]
    assert isinstance(row["usage"], dict)
    json.dumps(details)


async def test_the_agent_is_started_with_what_the_preset_says_and_the_record_tells_so(desk: Desk) -> None:
    fields = ("model: acme/large", "tools: read,ls", "thinkingLevel: low", "timeout: 7")
    desk.write_preset("ranger", *fields, body="You scout.", is_global=True)
    await desk.subagent(preset="ranger", task=says("Ok."), model="tiger")
    (run,) = desk.run_dirs
    meta, result = desk.meta(), json.loads((run / "result.json").read_bytes())
    expected = {
        "preset": "ranger",
        "presetSource": "global",
        "profile": None,
        "requestedModel": "tiger",
        "resolvedModel": "zoo/tiger",
        "tools": ["read", "ls"],
        "systemPrompt": "You scout.",
        "systemPromptPath": str(run / "system-prompt.md"),
        "timeout": 7,
    }
    assert {key: meta[key] for key in expected} == expected
    assert (run / "system-prompt.md").read_text() == "You scout."
    assert (result["preset"], result["requestedModel"], result["resolvedModel"]) == ("ranger", "tiger", "zoo/tiger")
    assert meta["argv"][meta["argv"].index("--exclude-tools") :] == [
        *("--exclude-tools", "mcp__*,list_mcp_resources,list_mcp_resource_templates,read_mcp_resource"),
        *("--model", "zoo/tiger", "--append-system-prompt", str(run / "system-prompt.md")),
        *("--thinking", "low", "--tools", "read,ls"),
    ]


async def test_without_tools_body_and_timeout_nothing_is_restricted_and_nothing_is_added(desk: Desk) -> None:
    await desk.subagent(preset="scout", task=says("Ok."))
    meta = desk.meta()
    assert not {"--tools", "--append-system-prompt"} & set(meta["argv"])
    assert meta["timeout"] == 600
    assert not (desk.run_dirs[0] / "system-prompt.md").exists()


async def test_a_run_that_fails_is_an_outcome_and_no_error_of_the_call(desk: Desk) -> None:
    result = await desk.subagent(preset="scout", task=script(complains("no such luck"), ["exit", 3]))
    (row,) = result.details["runs"]
    assert result.text.startswith("failed: ")
    assert result.text.endswith(f"(session: {row['sessionId']})")
    assert not result.is_error
    assert (row["status"], row["exitCode"]) == ("failed", 3)
    assert row["error"] in result.text


async def test_the_task_runs_in_the_directory_that_the_call_names(desk: Desk) -> None:
    elsewhere = desk.project / "elsewhere"
    elsewhere.mkdir()
    result = await desk.subagent(preset="scout", task=says("Ok."), cwd=str(elsewhere))
    assert result.details["runs"][0]["cwd"] == str(elsewhere)
    assert desk.run_dirs, "the record stays with the project"


# --- several -----------------------------------------------------------------------------------------------------


async def test_parallel_runs_are_summed_up_by_index_and_preset_and_then_told_in_full(desk: Desk) -> None:
    desk.write_preset("judge", "model: zoo/tiger")
    tasks = [
        {"preset": "scout", "task": says("Found it.")},
        {"preset": "judge", "task": script(["exit", 2])},
        {"preset": "scout", "task": says("Two\nlines."), "model": "zoo/tiger"},
        {"preset": "nobody", "task": "x"},
    ]
    result = await desk.subagent(tasks=tasks)
    rows = result.details["runs"]
    ids = [row["sessionId"] for row in rows]
    assert result.text.split("\n") == [
        f"✓ 1. scout: completed (session: {ids[0]})",
        f"✗ 2. judge: failed — {rows[1]['error']} (session: {ids[1]})",
        f"✓ 3. scout: completed (session: {ids[2]})",
        f'✗ 4. nobody: failed — Unknown preset: "nobody". Available presets: judge, scout (session: {ids[3]})',
        *("", "## 1. scout", "", "Found it.", "", "## 2. judge", "", "(no text output from sub-agent)"),
        *("", "## 3. scout", "", "Two", "lines.", "", "## 4. nobody", "", "(no text output from sub-agent)"),
    ]
    assert not result.is_error
    assert [row["status"] for row in rows] == ["completed", "failed", "completed", "failed"]
    assert [row["resolvedModel"] for row in rows] == ["acme/large", "zoo/tiger", "zoo/tiger", None]
    assert result.details["mode"] == "parallel"


async def test_four_work_at_once_and_the_fifth_waits(desk: Desk, tmp_path: Path) -> None:
    marks = [tmp_path / f"begun-{number}" for number in range(5)]
    gate = tmp_path / "gate"
    tasks = [
        {"preset": "scout", "task": script(touches(mark), waits_for(gate), prints(*answer("Ok.")))} for mark in marks
    ]
    call = asyncio.create_task(desk.subagent(tasks=tasks))
    await until_async(lambda: sum(mark.exists() for mark in marks) == 4)
    await asyncio.sleep(0.2)
    begun = sum(mark.exists() for mark in marks)
    gate.touch()
    result = await call
    assert begun == 4
    assert [row["status"] for row in result.details["runs"]] == ["completed"] * 5


async def test_one_task_in_the_list_is_still_answered_as_a_list(desk: Desk) -> None:
    result = await desk.subagent(tasks=[{"preset": "scout", "task": says("Ok.")}])
    assert result.text.startswith("✓ 1. scout: completed")


# --- calls that are wrong ----------------------------------------------------------------------------------------

BOTH = 'Invalid arguments: give "preset" and "task", or "tasks", not both'
NEITHER = 'Invalid arguments: give "preset" and "task", or "tasks" with at least one of them'
ONE = {"preset": "scout", "task": "x"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, NEITHER),
        ({"tasks": []}, NEITHER),
        ({**ONE, "tasks": [ONE]}, BOTH),
        ({"model": "m", "tasks": [ONE]}, BOTH),
        ({"preset": "scout"}, "Invalid arguments: task is required"),
        ({"task": "x"}, "Invalid arguments: preset is required"),
        ({"tasks": [{"task": "x"}]}, "Invalid arguments: tasks[0].preset is required"),
        ({"tasks": [ONE] * 17}, "Invalid arguments: tasks: expected array of length <= 16"),
        ({**ONE, "modle": "m"}, 'Invalid arguments: modle is not a known field; did you mean "model"?'),
        ({"chain": [ONE]}, 'There is no "chain": call subagent again and put the result into the next task.'),
    ],
)
async def test_a_call_that_does_not_fit_starts_nothing_and_says_why(
    desk: Desk, arguments: dict[str, Any], sentence: str
) -> None:
    result = await desk.subagent(**arguments)
    assert (result.text, result.is_error) == (sentence, True)
    assert not desk.run_dirs


async def test_what_a_model_filled_in_without_need_counts_as_left_out(desk: Desk) -> None:
    result = await desk.subagent(preset="scout", task=says("Ok."), model="", cwd="", tasks=[])
    assert result.text == "Ok."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"preset": "x"}, 'Unknown preset: "x". Available presets: bare, scout'),
        (
            {"preset": "bare"},
            'No model resolved for preset "bare". Pass "model" in the call, '
            'or add a line "model: provider/id" to the preset. On the command line: --model.',
        ),
        (
            {"preset": "bare", "model": "zoo/tigre"},
            'Unknown model: "zoo/tigre". Did you mean "zoo/tiger"? '
            "Available models: acme/large, acme/small, zoo/small, zoo/tiger",
        ),
        ({"preset": "scout", "cwd": "sub"}, "cwd must be an absolute path"),
        ({"preset": "scout", "cwd": "/no/where"}, "cwd does not exist: /no/where"),
    ],
)
async def test_a_call_of_which_nothing_could_start_is_an_error_and_is_recorded(
    desk: Desk, arguments: dict[str, Any], sentence: str
) -> None:
    desk.write_preset("bare")
    result = await desk.subagent(task="x", **arguments)
    (row,) = result.details["runs"]
    assert (result.text, result.is_error) == (f"failed: {sentence} (session: {row['sessionId']})", True)
    assert (row["status"], row["reason"], row["startedAt"]) == ("failed", "invalid", None)


async def test_a_preset_that_contradicts_itself_fails_the_call(desk: Desk) -> None:
    desk.write_preset("odd", "model: acme/large", "tools: read", "excludeTools: bash")
    result = await desk.subagent(preset="odd", task="x")
    assert result.is_error
    assert "mutually exclusive" in result.text
    assert not desk.run_dirs


async def test_a_model_that_cannot_be_checked_is_passed_on_with_a_warning(desk: Desk) -> None:
    desk.environ[MODELS_VARIABLE] = ""
    desk.write_preset("scout", "model: any/thing")
    result = await desk.subagent(preset="scout", task=says("Ok."))
    assert result.text == "Ok."
    (warning,) = result.details["warnings"]
    assert warning == f'The model "any/thing" was not checked: pi lists no models; {LOGIN}.'
    assert result.details["runs"][0]["resolvedModel"] == "any/thing"


# --- while it goes on, and after ---------------------------------------------------------------------------------


async def test_of_an_end_that_nobody_can_put_into_words_the_host_is_told_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def speechless(_words: ProgressWords, event: Event) -> str | None:
        if isinstance(event, Ended):
            raise ValueError("no words")
        return None

    monkeypatch.setattr(ProgressWords, "say", speechless)
    told: list[Progress] = []
    result = await desk.tool("subagent", context=ToolContext(desk.place, told.append), preset="scout", task=says("Ok."))
    assert result.text == "Ok."
    assert [over.run_dir for over in told if isinstance(over, RunOver)] == desk.run_dirs


async def test_progress_is_told_in_the_words_of_one_line_surfaces(desk: Desk, tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    started = {"type": "tool_execution_start", "toolCallId": "1", "toolName": "read", "args": {"path": "a.py"}}
    gate = tmp_path / "gate"
    reads = prints(assistant("", tool_call("read", path="a.py")), started)
    task = script(reads, waits_for(gate), prints(*answer("Ok.")))

    def see(details: dict[str, Any]) -> None:
        seen.append(details)
        if details["progress"] == ["Reading a.py"]:
            gate.touch()  # the agent does not go on before that was told

    await desk.subagent(see, preset="scout", task=task)
    assert ["Reading a.py"] in [details["progress"] for details in seen]
    assert {details["runs"][0]["status"] for details in seen} >= {"running"}


async def test_the_progress_of_several_names_each_by_index_and_preset(desk: Desk, tmp_path: Path) -> None:
    gate, wanted, lines = tmp_path / "gate", {"1. scout: One.", "2. scout: Two."}, set[str]()

    def see(details: dict[str, Any]) -> None:
        lines.update(details["progress"])
        if wanted <= lines:
            gate.touch()  # the agents do not end before both were told

    tasks = [
        {"preset": "scout", "task": script(prints(assistant(text)), waits_for(gate), prints(*answer(text)))}
        for text in ("One.", "Two.")
    ]
    await desk.subagent(see, tasks=tasks)
    assert wanted <= lines


async def test_a_cancelled_call_can_answer_how_each_task_ended(desk: Desk, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    arguments = {"preset": "scout", "task": script(touches(begun), pauses(300))}
    context = ToolContext(desk.place, answer_when_cancelled=True)
    call = asyncio.create_task(call_tool("subagent", arguments, context))
    await until_async(begun.exists)
    call.cancel()
    result = await asyncio.wait_for(call, PATIENCE_S)
    assert result.is_error
    assert result.text.startswith("aborted: ")
    assert result.details["runs"][0]["status"] == "aborted"


async def test_the_other_tools_read_such_a_session_and_continue_it(desk: Desk) -> None:
    first = await desk.subagent(preset="scout", task=says("Found it."))
    session = first.details["runs"][0]["sessionId"]
    assert (await desk.tool("get_subagent_output", sessionId=session)).text == "Found it."
    assert "Found it." in (await desk.tool("get_subagent_session", sessionId=session)).text
    task = {"name": "again", "prompt": "And now?", "resume": session}
    resumed = await desk.tool("delegate_to_subagents", tasks=[task])
    assert resumed.details["sessionIds"] == [session]
    assert len(desk.run_dirs) == 2
    told = (await desk.tool("get_subagent_output", sessionId=session)).text
    assert "Found it." in told, "the stand-in says back what it was told: the retelling"
    assert "And now?" in told


async def test_a_person_who_resumes_it_gets_the_same_preset_and_model_unless_they_name_a_profile(desk: Desk) -> None:
    first = await desk.subagent(preset="scout", task=says("Found it."), model="zoo/tiger")
    latest = Sessions(desk.place).find(first.details["runs"][0]["sessionId"]).latest
    task = latest.resumed_task("Go on.")
    assert (task.preset, task.model, task.profile) == ("scout", "zoo/tiger", None)
    other = latest.resumed_task("Go on.", profile="p")
    assert (other.preset, other.model, other.profile) == (None, None, "p")


# --- who may call it ---------------------------------------------------------------------------------------------


async def test_a_sub_agent_cannot_start_further_ones(desk: Desk) -> None:
    desk.environ["PI_SUBAGENTS_DEPTH"] = "1"
    sentence = (
        "A sub-agent at depth 1 cannot start further sub-agents: the setting subagents.maxDepth is 1. "
        "Do the work yourself, or ask whoever started you to delegate it."
    )
    for result in (
        await desk.subagent(preset="scout", task="x"),
        await desk.tool("delegate_to_subagents", tasks=[{"name": "n", "prompt": "x"}]),
        await desk.tool("background_agent", preset="scout", task="x"),
    ):
        assert (result.text, result.is_error) == (sentence, True)
    assert not desk.run_dirs


async def test_a_greater_depth_can_be_allowed(desk: Desk) -> None:
    desk.write_settings(maxDepth=2)
    desk.environ["PI_SUBAGENTS_DEPTH"] = "1"
    assert (await desk.subagent(preset="scout", task=says("Ok."))).text == "Ok."


async def test_a_profile_is_found_where_a_preset_is_asked_for_and_needs_a_model_too(desk: Desk) -> None:
    desk.write_profile("reviewer", body="You review.")
    refused = await desk.subagent(preset="reviewer", task="x")
    assert refused.text.startswith('failed: No model resolved for preset "reviewer".')
    done = await desk.subagent(preset="reviewer", task=script(prints(*answer("Fine"))), model="acme/large")
    assert done.text == "Fine"
    meta = desk.meta()
    assert (meta["preset"], meta["resolvedModel"]) == ("reviewer", "acme/large")
    assert "--system-prompt" in meta["argv"]  # its body replaces the prompt, as a profile's does
