"""How a run ended, decided from a table of histories alone."""

from __future__ import annotations

import pytest

from pi_subagents.fold import RunState, fold
from pi_subagents.models import Reason, Status, status_for
from pi_subagents.models import event as ev
from pi_subagents.outcome import conclude, timeout_sentence

CREATED = ev.Created(run_id="r", session_id="s", name="n", prompt="p", cwd="/", harness="pi-json")
STARTED = ev.Started(pid=1, containment="guard")
BEGINNING: list[ev.AnyEvent] = [CREATED, STARTED, ev.AgentStarted()]
SAID = ev.Message(role="assistant", parts=(ev.TextPart("text"),), stop_reason="stop")
BROKEN = ev.Message(role="assistant", stop_reason="error", error_message="500 from the model")
ABORTED = ev.Message(role="assistant", stop_reason="aborted")
CUT = ev.Message(role="assistant", parts=(ev.TextPart("text"),), stop_reason="length")
PASS_ENDED = ev.AgentEnded(will_retry=False)
WILL_RETRY = ev.AgentEnded(will_retry=True)
OLD_END = ev.AgentEnded(will_retry=None)
SETTLED = ev.AgentSettled()
CANCEL = ev.StopRequested(reason=Reason.CANCELLED, message="Cancelled")
TIMEOUT = ev.StopRequested(reason=Reason.TIMEOUT, message="Timed out")
STDERR = ev.Stderr(text="starting\nError: last words\n\n")


def exited(code: int) -> ev.Exited:
    return ev.Exited(exit_code=code)


HISTORIES: list[tuple[str, list[ev.AnyEvent], str, str, str | None]] = [
    ("settled and exited", [SAID, PASS_ENDED, SETTLED, exited(0)], "completed", "settled", None),
    ("ended its pass and exited", [SAID, PASS_ENDED, exited(0)], "completed", "settled", None),
    ("0.74", [SAID, OLD_END, exited(0)], "completed", "settled", None),
    ("recovered by a retry", [BROKEN, WILL_RETRY, SAID, PASS_ENDED, SETTLED, exited(0)], "completed", "settled", None),
    (
        "recovered by a retry, 0.74",
        [BROKEN, OLD_END, ev.RetryStarted(), SAID, OLD_END, exited(0)],
        "completed",
        "settled",
        None,
    ),
    (
        "went on after a compaction",
        [OLD_END, ev.CompactionStarted(), ev.CompactionEnded(will_retry=False), exited(0)],
        "completed",
        "settled",
        None,
    ),
    (
        "died in a retry after a compaction",
        [OLD_END, ev.CompactionStarted(), ev.CompactionEnded(will_retry=True), exited(0)],
        "failed",
        "exit",
        "Sub-agent exited with code 0 before it finished",
    ),
    (
        "aborted, as the agent says, whatever its model said last",
        [SAID, PASS_ENDED, ev.AgentSettled(aborted=True), exited(0)],
        "failed",
        "agent_error",
        "The agent stopped with reason 'aborted'",
    ),
    ("settled without an abort", [SAID, ev.AgentSettled(aborted=False), exited(0)], "completed", "settled", None),
    (
        "went on after an abort",
        [ev.AgentSettled(aborted=True), ev.AgentStarted(), SAID, ev.AgentSettled(aborted=False), exited(0)],
        "completed",
        "settled",
        None,
    ),
    ("cut off, 0.87", [CUT, SETTLED, exited(0)], "completed", "settled", None),
    (
        "cut off, 1.5",
        [CUT, SETTLED, exited(1)],
        "failed",
        "agent_error",
        "The answer was cut off at the model's output limit; what arrived is kept",
    ),
    (
        "to be fetched later",
        [ev.Message(role="assistant", stop_reason="deferred"), SETTLED, exited(0)],
        "failed",
        "agent_error",
        "The agent stopped with reason 'deferred'",
    ),
    ("said nothing", [exited(0)], "failed", "exit", "Sub-agent exited with code 0 before it finished"),
    ("broke off", [SAID, exited(0)], "failed", "exit", "Sub-agent exited with code 0 before it finished"),
    ("settled, then crashed", [SAID, SETTLED, exited(9)], "failed", "exit", "Sub-agent exited with code 9"),
    (
        "crashed with a word",
        [STDERR, exited(1)],
        "failed",
        "exit",
        "Sub-agent exited with code 1 before it finished: Error: last words",
    ),
    (
        "without a key",
        [
            ev.Stderr(
                text="No API key found for acme.\n\nUse /login to log into a provider. See:\n  /docs/providers.md\n"
            ),
            exited(1),
        ],
        "failed",
        "exit",
        "Sub-agent exited with code 1 before it finished: No API key found for acme. "
        "Run `pi-subagents pi` and type `/login`.",
    ),
    (
        "without a key, over RPC",
        [
            ev.CommandRefused(
                command="prompt", message="No API key found for acme.\n\nUse /login to log in. See:\n  /docs"
            ),
            exited(0),
        ],
        "failed",
        "agent_error",
        "No API key found for acme. Run `pi-subagents pi` and type `/login`.",
    ),
    (
        "with an address that only looks like it",
        [ev.Stderr(text="Error: see https://acme.example/login for your plan\n"), exited(1)],
        "failed",
        "exit",
        "Sub-agent exited with code 1 before it finished: Error: see https://acme.example/login for your plan",
    ),
    (
        "died before the retry",
        [BROKEN, WILL_RETRY, exited(0)],
        "failed",
        "exit",
        "Sub-agent exited with code 0 before it finished: 500 from the model",
    ),
    (
        "went on and died",
        [SAID, SETTLED, ev.TurnStarted(), exited(0)],
        "failed",
        "exit",
        "Sub-agent exited with code 0 before it finished",
    ),
    ("model failed", [BROKEN, PASS_ENDED, SETTLED, exited(0)], "failed", "agent_error", "500 from the model"),
    (
        "model was aborted",
        [ABORTED, PASS_ENDED, SETTLED, exited(0)],
        "failed",
        "agent_error",
        "The agent stopped with reason 'aborted'",
    ),
    ("could not be started", [STDERR, exited(127)], "failed", "spawn", "Failed to spawn sub-agent process"),
    ("may not be run", [exited(126)], "failed", "spawn", "Failed to spawn sub-agent process"),
    (
        "spoke, then 127",
        [SAID, exited(127)],
        "failed",
        "exit",
        "Sub-agent exited with code 127 before it finished",
    ),
    ("cancelled", [CANCEL, exited(143)], "aborted", "cancelled", "Cancelled"),
    ("cancelled, settled anyway", [CANCEL, SAID, SETTLED, exited(0)], "aborted", "cancelled", "Cancelled"),
    ("cancelled between passes", [PASS_ENDED, CANCEL, exited(0)], "aborted", "cancelled", "Cancelled"),
    ("timed out first", [TIMEOUT, CANCEL, exited(137)], "failed", "timeout", "Timed out"),
    ("cancelled too late", [SAID, SETTLED, CANCEL, exited(0)], "completed", "settled", None),
    ("cancelled before it spoke, 127", [CANCEL, exited(127)], "aborted", "cancelled", "Cancelled"),
]


@pytest.mark.parametrize(
    ("history", "status", "reason", "sentence"), [h[1:] for h in HISTORIES], ids=[h[0] for h in HISTORIES]
)
def test_an_ending_follows_from_what_was_recorded(
    history: list[ev.AnyEvent], status: str, reason: str, sentence: str | None
) -> None:
    ended = conclude(fold(RunState(), [*BEGINNING, *history]), at=7)
    assert (ended.status, ended.reason, ended.message, ended.at) == (status, reason, sentence, 7)


def test_the_signal_that_ended_an_idle_agent_does_not_spoil_its_result() -> None:
    state = fold(RunState(), [*BEGINNING, SAID, SETTLED, exited(143)])
    assert conclude(state, at=0, stopped_after_settling=True).status is Status.COMPLETED
    assert conclude(state, at=0).status is Status.FAILED


def test_an_idle_agent_that_was_stopped_is_not_spared_its_failed_answer() -> None:
    state = fold(RunState(), [*BEGINNING, BROKEN, SETTLED, exited(143)])
    assert conclude(state, at=0, stopped_after_settling=True).reason is Reason.AGENT_ERROR


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_final_state(reason: Reason) -> None:
    expected = {Reason.SETTLED: Status.COMPLETED, Reason.CANCELLED: Status.ABORTED}.get(reason, Status.FAILED)
    assert status_for(reason) is expected


@pytest.mark.parametrize(("timeout_s", "shown"), [(600, "600s"), (1.5, "1.5s"), (90.0, "90s")])
def test_a_timeout_is_told_with_the_configured_number(timeout_s: float, shown: str) -> None:
    assert timeout_sentence(timeout_s) == f"Timed out after {shown}. Consider resuming with a longer timeout."


def test_an_error_of_megabytes_ends_a_run_with_a_sentence() -> None:
    broken = ev.Message(role="assistant", stop_reason="error", error_message="x" * 5_000_000)
    ended = conclude(fold(RunState(), [*BEGINNING, broken, PASS_ENDED, ev.AgentSettled()]), 1)
    assert ended.message == "x" * 4000 + "… (5,000,000 characters)"
