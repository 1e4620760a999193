"""A harness that is nothing like `pi`, through everything that a delegation does, on a machine that has no `pi`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.delegation.missing import require_everything
from pi_subagents.diagnosis import diagnose
from pi_subagents.errors import AgentNotFound, InvalidCall, NothingStarted
from pi_subagents.harness import HARNESSES, Harness
from pi_subagents.models import Reason, Status, Task
from pi_subagents.models import event as ev
from pi_subagents.place import Place
from pi_subagents.profiles import invalidate_profiles_cache
from pi_subagents.progress import Window
from pi_subagents.runs.run import Run, RunResult
from pi_subagents.store import JOURNAL_FILE, META_FILE, load_run, read_journal
from pi_subagents.testing.echo_harness import ECHO_VARIABLE, EchoHarness


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Where there is no `pi` to fall back on."""
    invalidate_profiles_cache()
    for name in ("project/.pi", "agent/agent-profiles", "agent/subagents"):
        (tmp_path / name).mkdir(parents=True)
    environ = {"PATH": "/usr/bin:/bin", "PI_SUBAGENTS_DATA_DIR": str(tmp_path / "data")}
    return Place(tmp_path / "project", tmp_path / "agent", environ)


@pytest.fixture
def _chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if it were one of those that can be chosen."""
    monkeypatch.setitem(HARNESSES, "echo", "pi_subagents.testing.echo_harness.EchoHarness")
    yield
    invalidate_profiles_cache()


def write_profile(place: Place, fields: str, body: str = "") -> None:
    path = place.agent_dir / "agent-profiles" / "p.md"
    path.write_text(f"---\nname: p\n{fields}\n---\n{body}", encoding="utf-8")


def write_settings(place: Place, **subagents: object) -> None:
    (place.agent_dir / "settings.json").write_text(json.dumps({"subagents": subagents}))


async def run(place: Place, prompt: str, harness: Harness | None = None, **task: Any) -> RunResult:
    (result,) = await Delegation([Task("t", prompt, **task)], place=place, harness=harness or EchoHarness())
    return result


async def test_a_task_is_done_when_the_program_exits_with_code_0_and_seen_and_recorded_like_any_other(
    place: Place,
) -> None:
    windows: dict[str, Window] = {}

    def watch(state: Any, events: Any) -> None:
        window = windows.setdefault(state.run_id, Window(state))
        for event in events:
            window.apply(event)

    prompt = "Hello\n> bash ls\nBye"
    (result,) = await Delegation([Task("t", prompt)], place=place, harness=EchoHarness(), observer=watch)
    assert (result.status, result.reason, result.error) == (Status.COMPLETED, Reason.SETTLED, None)
    assert (result.output, result.tool_count, result.exit_code) == ("Hello\nBye", 1, 0)
    (window,) = windows.values()
    assert [line.text for line in window.lines][-3:] == ["→ bash → ls", "Hello", "Bye"]
    meta = json.loads((result.run_dir / META_FILE).read_bytes())
    assert (meta["harness"], meta["program"]["foundIn"]) == ("echo", "pi-subagents itself")
    assert (result.run_dir / "prompt.md").read_text() == prompt
    assert not (result.run_dir / "task.txt").exists(), "what is temporary goes with the run"
    assert load_run(result.run_dir).text == "Hello\nBye"
    assert not (result.run_dir / "child-session.jsonl").exists()


async def test_a_code_that_is_not_0_is_a_failure_with_what_it_said(place: Place) -> None:
    result = await run(place, "Half an answer\nfail 3")
    assert (result.status, result.reason) == (Status.FAILED, Reason.EXIT)
    assert result.error == "Sub-agent exited with code 3 before it finished: echo: the task says that it fails"
    assert result.output.startswith("Half an answer")


async def test_it_has_as_much_time_as_any_agent(place: Place) -> None:
    result = await run(place, "Thinking\nwait", timeout=1.0)
    assert (result.status, result.reason) == (Status.FAILED, Reason.TIMEOUT)


async def test_it_can_be_stopped(place: Place) -> None:
    async with Delegation([Task("t", "Thinking\nwait")], place=place, harness=EchoHarness()) as delegation:
        async for update in delegation:
            if isinstance(update.event, ev.Delta):
                delegation.stop()
        (result,) = delegation.results
    assert (result.status, result.reason) == (Status.ABORTED, Reason.CANCELLED)


async def test_none_is_kept_for_the_next_task(place: Place) -> None:
    write_settings(place, warmAgents=True)
    tasks = [Task("one", "Hello"), Task("two", "Hello")]
    results = await Delegation(tasks, place=place, harness=EchoHarness(), concurrency=1)
    journals = [read_journal(result.run_dir / JOURNAL_FILE) for result in results]
    started = [event for journal in journals for event in journal if isinstance(event, ev.Started)]
    assert [event.reused for event in started] == [False, False]


@pytest.mark.usefixtures("_chosen")
async def test_it_cannot_be_steered_and_nothing_else_is_run_in_its_place(place: Place) -> None:
    problem = Run.load((await run(place, "Hello")).run_dir).why_not_steered()
    assert problem is not None
    assert "the harness echo" in str(problem)
    assert "pi-rpc" not in problem.advice


@pytest.mark.parametrize("mode", ["retell", "native"])
async def test_what_came_before_is_retold(mode: str, place: Place) -> None:
    write_settings(place, resumeMode=mode)
    first = await run(place, "The word is swordfish.")
    second = await run(place, "What is the word?", resume=first.session_id)
    assert second.session_id == first.session_id
    assert "The word is swordfish." in second.output
    assert load_run(second.run_dir).resume_mode == "retell"


@pytest.mark.usefixtures("_chosen")
async def test_a_profile_can_choose_it_where_pi_is_the_rule_but_no_setting_makes_it_the_rule(place: Place) -> None:
    write_profile(place, "harness: echo", "Be brief.")
    (result,) = await Delegation([Task("t", "Hello", profile="p")], place=place)
    assert (result.status, result.output) == (Status.COMPLETED, "Be brief.\nHello")
    write_settings(place, harness="echo")
    (warning,) = place.settings().warnings
    assert warning.endswith('must be one of pi-json, pi-rpc, not "echo"; ignoring it')
    assert place.settings().harness is None


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ("tools: [read]", '"tools"'),
        ("thinkingLevel: high\nnoTools: true", '"thinkingLevel", "noTools"'),
        ("apiKey: sk-0123456789abcdef", '"apiKey"'),
        ("model: acme/m", '"model"'),
    ],
)
async def test_a_profile_that_it_cannot_honour_is_refused_before_the_start(
    fields: str, named: str, place: Place
) -> None:
    write_profile(place, fields)
    result = await run(place, "Hello", profile="p")
    sentence = f'Profile "p" sets {named}, which the agent "echo" does not support. Leave '
    assert (result.status, result.reason) == (Status.FAILED, Reason.INVALID)
    assert (result.error or "").startswith(sentence)
    assert not result.output
    delegation = Delegation(
        [Task("t", "Hello", profile="p")], place=place, harness=EchoHarness(), check=require_everything
    )
    with pytest.raises(NothingStarted, match="does not support"):
        delegation.prepare()


async def test_what_a_task_asks_for_is_refused_like_what_a_profile_says(place: Place) -> None:
    result = await run(place, "Hello", model="acme/m", thinking_level="high")
    sentence = 'The task sets "model", "thinkingLevel", which the agent "echo" does not support. Leave them out'
    assert (result.error or "").startswith(sentence)


async def test_where_its_program_is_not_there_nothing_is_started(place: Place, tmp_path: Path) -> None:
    elsewhere = Place(place.cwd, place.agent_dir, {**place.environ, ECHO_VARIABLE: str(tmp_path / "no.py")})
    with pytest.raises(AgentNotFound, match=r"no\.py, named by the variable PI_SUBAGENTS_ECHO"):
        await run(elsewhere, "Hello")
    findings = {finding.check: finding for finding in diagnose(elsewhere, EchoHarness())}
    assert findings["echo"].needed
    assert not findings["echo"].ok


def test_the_doctor_asks_it_instead_of_pi(place: Place) -> None:
    findings = {finding.check: finding for finding in diagnose(place, EchoHarness())}
    assert findings["echo"].detail == "echo 1.0.0 (found via pi-subagents itself)"
    assert findings["echo"].ok
    assert not {"pi", "node", "rg", "model"} & findings.keys()


def test_a_name_that_is_not_in_the_table_is_no_harness(place: Place) -> None:
    write_settings(place, harness="echo")
    (warning,) = place.settings().warnings
    assert "must be one of pi-json, pi-rpc" in warning
    write_profile(place, "harness: echo")
    with pytest.raises(InvalidCall, match=r"one of pi-json, pi-rpc|harness"):
        Delegation(
            [Task("t", "x", profile="p")], place=place, harness=EchoHarness(), check=require_everything
        ).prepare()
