"""How a run ends, decided by what its agent said and did."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.runners import SpawnFailed
from pi_subagents.supervisor.supervisor import QUIET_GRACE_S, SETTLE_GRACE_S
from pi_subagents.testing.fakes import FakeProcess
from pi_subagents.testing.records import (
    AGENT_SETTLED,
    AGENT_START,
    Record,
    agent_end,
    answer,
    assistant,
    tool_call,
    tool_result,
)
from tests.supervisor.kit import COMPLETED, printing, see_through, staying, stopping

NOT_STARTED = ("failed", "spawn", "Failed to spawn sub-agent process")
UNANNOUNCED = [AGENT_START, assistant("Done."), agent_end(will_retry=None)]
"""As versions end that never say that they have settled."""
RETRYING = [AGENT_START, assistant(stop_reason="error", error="429"), agent_end(will_retry=True)]
FAILED_TURN = [AGENT_START, assistant(stop_reason="error", error="500 from the model"), agent_end(), AGENT_SETTLED]
RECOVERED = [
    AGENT_START,
    assistant("Let me look.", tool_call("bash", command="cat nothing")),
    tool_result("bash", "No such file", is_error=True),
    *answer("It is not there."),
]


def exited(code: int, details: str) -> tuple[str, str, str]:
    return "failed", "exit", f"Sub-agent exited with code {code}{details}"


@pytest.mark.parametrize(
    ("records", "exit_code", "verdict"),
    [
        pytest.param(answer("Done."), 0, COMPLETED, id="it settled"),
        pytest.param(UNANNOUNCED, 0, COMPLETED, id="of a version that never says so"),
        pytest.param(RECOVERED, 0, COMPLETED, id="it recovered from the error of a tool"),
        pytest.param([*RETRYING, *answer("Done.")], 0, COMPLETED, id="a retry helped"),
        pytest.param(RETRYING, 0, exited(0, " before it finished: 429"), id="a retry was announced and never came"),
        pytest.param(FAILED_TURN, 0, ("failed", "agent_error", "500 from the model"), id="its last turn failed"),
        pytest.param(answer("Done."), 3, exited(3, ""), id="it settled and then failed to exit cleanly"),
        *(
            pytest.param(
                [AGENT_START, assistant("Half")], code, exited(code, " before it finished"), id=f"half, {code}"
            )
            for code in (0, 1, 127)
        ),
    ],
)
def test_an_agent_that_exits_ends_its_run(
    records: list[Record], exit_code: int, verdict: tuple[str, ...], tmp_path: Path
) -> None:
    outcome = see_through(tmp_path, printing(*records, exit_code=exit_code))
    assert (outcome.verdict, outcome.signals, outcome.elapsed_s) == (verdict, [], 0)
    said = [record["message"]["content"] for record in records if record.get("message", {}).get("role") == "assistant"]
    assert outcome.state.text == (said[-1][-1]["text"] if said[-1] else "")


@pytest.mark.parametrize(
    ("records", "ignores", "signals"),
    [
        pytest.param(answer("Done."), (), [("terminate", SETTLE_GRACE_S)], id="two seconds after it settled"),
        pytest.param(
            answer("Done."), ("terminate",), [("terminate", 2), ("kill", 7)], id="killed where it ignores that"
        ),
        pytest.param(UNANNOUNCED, (), [("terminate", SETTLE_GRACE_S)], id="of a version that never says so"),
        pytest.param(
            [AGENT_START, assistant("Done."), agent_end(will_retry=False)],
            (),
            [("terminate", QUIET_GRACE_S)],
            id="one that only ended its pass gets longer",
        ),
    ],
)
def test_an_agent_that_has_finished_and_stays_is_stopped_and_has_completed(
    records: list[Record], ignores: tuple[str, ...], signals: list[tuple[str, float]], tmp_path: Path
) -> None:
    outcome = see_through(tmp_path, staying(*records), ignores=ignores)
    assert (outcome.verdict, outcome.signals) == (COMPLETED, signals)
    assert outcome.state.exit_code == (137 if ignores else 143)


def test_an_agent_that_goes_on_after_settling_is_left_alone(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(answer("First."), 1.5, AGENT_START, 60, answer("Second.")))
    assert outcome.verdict == COMPLETED
    assert (outcome.state.text, outcome.signals, outcome.elapsed_s) == ("Second.", [], 61.5)


@pytest.mark.parametrize("kind", [SpawnFailed, PermissionError])  # the latter: something around it cannot be looked at
def test_an_agent_that_cannot_be_started_fails_with_the_documented_sentence(
    kind: type[Exception], tmp_path: Path
) -> None:
    failure = kind("/opt/sk-very-secret/pi: not found")
    outcome = see_through(tmp_path, printing(), fails_with=failure, secrets=["sk-very-secret"])
    assert outcome.verdict == NOT_STARTED
    assert [event.text for event in outcome.journal if isinstance(event, ev.Stderr)] == [
        "/opt/[redacted]/pi: not found"
    ]


@pytest.mark.parametrize("exit_code", [126, 127])
def test_a_wrapper_that_could_not_start_the_agent_counts_as_a_failed_start(exit_code: int, tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        process.writes(b"sh: 1: pi: not found\n", "stderr")
        return exit_code

    assert see_through(tmp_path, play).verdict == NOT_STARTED


def test_a_task_that_cannot_be_run_ends_without_a_process(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(), problem='Unknown profile: "x". Available profiles: (none)')
    assert outcome.verdict == ("failed", "invalid", 'Unknown profile: "x". Available profiles: (none)')
    assert outcome.process is None


@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.TIMEOUT])
def test_a_stop_after_the_agent_settled_does_not_spoil_its_result(reason: Reason, tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(*answer("Done.")), meanwhile=stopping(1, (reason, "too late")))
    assert (outcome.verdict, outcome.signals) == (COMPLETED, [("terminate", 1)])


@pytest.mark.parametrize(
    "records",
    [
        pytest.param(
            [AGENT_START, *[assistant("", tool_call("bash"))] * 5, *answer("Done.")], id="a loop, then an answer"
        ),
        pytest.param(answer("Done."), id="an answer"),
        pytest.param(FAILED_TURN, id="a failed turn"),
        pytest.param([AGENT_START, assistant("Half")], id="no end"),
    ],
)
def test_how_the_output_arrives_does_not_change_how_the_run_ends(records: list[Record], tmp_path: Path) -> None:
    one_by_one = see_through(tmp_path / "one by one", printing(*records))
    together = see_through(tmp_path / "together", printing(records))
    assert together.verdict == one_by_one.verdict


def test_the_journal_ends_with_the_exit_and_the_verdict(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(*answer("Done.")))
    assert [type(event) for event in outcome.journal[:2]] == [ev.Created, ev.Started]
    assert [type(event) for event in outcome.journal[-2:]] == [ev.Exited, ev.Ended]
