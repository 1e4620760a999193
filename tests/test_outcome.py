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
CALLED = ev.Message(role="assistant", parts=(ev.ToolCallPart("1", "bash"),), stop_reason="toolUse")
LIMITED = ev.Message(role="assistant", stop_reason=ev.LIMIT, error_message="Reached 3 turns")
CUT = ev.Message(role="assistant", parts=(ev.TextPart("text"),), stop_reason="length")
DEFERRED = ev.Message(role="assistant", stop_reason="deferred")
PASS_ENDED = ev.AgentEnded(will_retry=False)
WILL_RETRY = ev.AgentEnded(will_retry=True)
OLD_END = ev.AgentEnded(will_retry=None)
SETTLED = ev.AgentSettled()
CANCEL = ev.StopRequested(reason=Reason.CANCELLED, message="Cancelled")
TIMEOUT = ev.StopRequested(reason=Reason.TIMEOUT, message="Timed out")
STDERR = ev.Stderr(text="starting\nError: last words\n\n")


Outcome = tuple[str, str, str | None]
COMPLETED: Outcome = ("completed", "settled", None)
CANCELLED: Outcome = ("aborted", "cancelled", "Cancelled")
NOT_STARTED: Outcome = ("failed", "spawn", "Failed to spawn sub-agent process")
LOGIN = "Run `pi-subagents pi` and type `/login`."
NO_KEY = "No API key found for acme.\n\nUse /login to log into a provider. See:\n  /docs/providers.md\n"
ONLY_AN_ADDRESS = "Error: see https://acme.example/login for your plan"


def exited(code: int) -> ev.Exited:
    return ev.Exited(exit_code=code)


def gone(code: int, detail: str = "") -> Outcome:
    return "failed", "exit", f"Sub-agent exited with code {code}{detail}"


def gone_early(code: int, detail: str = "") -> Outcome:
    return gone(code, f" before it finished{detail}")


def failed(sentence: str) -> Outcome:
    return "failed", "agent_error", sentence


def compacted(*, will_retry: bool) -> list[ev.AnyEvent]:
    return [SAID, OLD_END, ev.CompactionStarted(), ev.CompactionEnded(will_retry=will_retry), exited(0)]


def settled(*, aborted: bool) -> ev.AgentSettled:
    return ev.AgentSettled(aborted=aborted)


HISTORIES: dict[str, tuple[list[ev.AnyEvent], Outcome]] = {
    "settled and exited": ([SAID, PASS_ENDED, SETTLED, exited(0)], COMPLETED),
    "ended its pass and exited": ([SAID, PASS_ENDED, exited(0)], COMPLETED),
    "0.74": ([SAID, OLD_END, exited(0)], COMPLETED),
    "recovered by a retry": ([BROKEN, WILL_RETRY, SAID, PASS_ENDED, SETTLED, exited(0)], COMPLETED),
    "recovered by a retry, 0.74": ([BROKEN, OLD_END, ev.RetryStarted(), SAID, OLD_END, exited(0)], COMPLETED),
    "went on after a compaction": (compacted(will_retry=False), COMPLETED),
    "died in a retry after a compaction": (compacted(will_retry=True), gone_early(0)),
    "aborted, as the agent says, whatever its model said last": (
        [SAID, PASS_ENDED, settled(aborted=True), exited(0)],
        failed("The agent stopped with reason 'aborted'"),
    ),
    "settled without an abort": ([SAID, settled(aborted=False), exited(0)], COMPLETED),
    "went on after an abort": (
        [settled(aborted=True), ev.AgentStarted(), SAID, settled(aborted=False), exited(0)],
        COMPLETED,
    ),
    "cut off, 0.87": ([CUT, SETTLED, exited(0)], COMPLETED),
    "cut off, 1.5": (
        [CUT, SETTLED, exited(1)],
        failed("The answer was cut off at the model's output limit; what arrived is kept"),
    ),
    "to be fetched later": ([DEFERRED, SETTLED, exited(0)], failed("The agent stopped with reason 'deferred'")),
    "settled without a word": ([SETTLED, exited(0)], failed("The agent finished without saying or doing anything")),
    "did something without a word": ([CALLED, SETTLED, exited(0)], ("completed", "no_answer", None)),
    "reached a limit": ([SAID, LIMITED, SETTLED, exited(1)], ("failed", "limit", "Reached 3 turns")),
    "said nothing": ([exited(0)], gone_early(0)),
    "broke off": ([SAID, exited(0)], gone_early(0)),
    "settled, then crashed": ([SAID, SETTLED, exited(9)], gone(9)),
    "crashed with a word": ([STDERR, exited(1)], gone_early(1, ": Error: last words")),
    "without a key": ([ev.Stderr(text=NO_KEY), exited(1)], gone_early(1, f": No API key found for acme. {LOGIN}")),
    "without a key, over RPC": (
        [ev.CommandRefused(command="prompt", message=NO_KEY.replace("into a provider", "in")), exited(0)],
        failed(f"No API key found for acme. {LOGIN}"),
    ),
    "with an address that only looks like it": (
        [ev.Stderr(text=f"{ONLY_AN_ADDRESS}\n"), exited(1)],
        gone_early(1, f": {ONLY_AN_ADDRESS}"),
    ),
    "died before the retry": ([BROKEN, WILL_RETRY, exited(0)], gone_early(0, ": 500 from the model")),
    "went on and died": ([SAID, SETTLED, ev.TurnStarted(), exited(0)], gone_early(0)),
    "model failed": ([BROKEN, PASS_ENDED, SETTLED, exited(0)], failed("500 from the model")),
    "model was aborted": (
        [ABORTED, PASS_ENDED, SETTLED, exited(0)],
        failed("The agent stopped with reason 'aborted'"),
    ),
    "could not be started": ([STDERR, exited(127)], NOT_STARTED),
    "may not be run": ([exited(126)], NOT_STARTED),
    "spoke, then 127": ([SAID, exited(127)], gone_early(127)),
    "cancelled": ([CANCEL, exited(143)], CANCELLED),
    "cancelled, settled anyway": ([CANCEL, SAID, SETTLED, exited(0)], CANCELLED),
    "cancelled between passes": ([PASS_ENDED, CANCEL, exited(0)], CANCELLED),
    "timed out first": ([TIMEOUT, CANCEL, exited(137)], ("failed", "timeout", "Timed out")),
    "cancelled too late": ([SAID, SETTLED, CANCEL, exited(0)], COMPLETED),
    "cancelled before it spoke, 127": ([CANCEL, exited(127)], CANCELLED),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_an_ending_follows_from_what_was_recorded(name: str) -> None:
    history, outcome = HISTORIES[name]
    ended = conclude(fold(RunState(), [*BEGINNING, *history]), at=7)
    assert (ended.status, ended.reason, ended.message, ended.at) == (*outcome, 7)


def test_the_signal_that_ended_an_idle_agent_does_not_spoil_its_result_nor_spare_it_a_failed_one() -> None:
    state = fold(RunState(), [*BEGINNING, SAID, SETTLED, exited(143)])
    assert conclude(state, at=0, stopped_after_settling=True).status is Status.COMPLETED
    assert conclude(state, at=0).status is Status.FAILED
    state = fold(RunState(), [*BEGINNING, BROKEN, SETTLED, exited(143)])
    assert conclude(state, at=0, stopped_after_settling=True).reason is Reason.AGENT_ERROR


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_its_final_state(reason: Reason) -> None:
    completed = dict.fromkeys((Reason.SETTLED, Reason.NO_ANSWER), Status.COMPLETED)
    assert status_for(reason) is {**completed, Reason.CANCELLED: Status.ABORTED}.get(reason, Status.FAILED)


@pytest.mark.parametrize(("timeout_s", "shown"), [(600, "600s"), (1.5, "1.5s"), (90.0, "90s")])
def test_a_timeout_is_told_with_the_configured_number(timeout_s: float, shown: str) -> None:
    assert timeout_sentence(timeout_s) == f"Timed out after {shown}. Consider resuming with a longer timeout."


@pytest.mark.parametrize(
    ("events", "is_advised"),
    [
        ([BROKEN, PASS_ENDED, exited(1)], True),
        ([exited(1)], True),
        ([SAID, SETTLED, exited(0)], False),
        ([CANCEL, exited(143)], False),
        ([LIMITED, SETTLED, exited(0)], False),
    ],
    ids=["failed", "ended", "completed", "stopped", "limited"],
)
def test_advice_is_given_to_whoever_sees_an_agent_fail(events: list[ev.AnyEvent], is_advised: bool) -> None:
    message = conclude(fold(RunState(), [*BEGINNING, *events]), 0, advice="run `it login`").message
    assert (message or "").endswith(" (run `it login`)") is is_advised


def test_an_error_of_megabytes_ends_a_run_with_a_sentence() -> None:
    broken = ev.Message(role="assistant", stop_reason="error", error_message="x" * 5_000_000)
    ended = conclude(fold(RunState(), [*BEGINNING, broken, PASS_ENDED, ev.AgentSettled()]), 1)
    assert ended.message == "x" * 4000 + "… (5,000,000 characters)"
