"""What is left when a call, the bridge or pi itself ends before its time."""

from __future__ import annotations

import os
import signal

import pytest

from pi_subagents.models import Reason
from pi_subagents.offline import Call, Hang, Say, Script
from pi_subagents.store import load_run
from tests.extension.conftest import PlayWithExtension
from tests.extension.rpc import WAIT_S, Event, Pi, results, text_of
from tests.kit.processes import command_line
from tests.kit.waiting import until
from tests.pi.stage import Stage, processes_below

_DELEGATE = Call("delegate_to_subagents", {"tasks": [{"name": "slow", "prompt": "Hang."}]})
_SCRIPT = (
    Script()
    .when("Delegate.", [_DELEGATE, _DELEGATE, Call("list_subagent_profiles"), Say("Went on."), Say("Told.")])
    .when("Hang.", [Hang("Thinking")])
)


@pytest.fixture
def stage(play_with_extension: PlayWithExtension) -> Stage:
    return play_with_extension(_SCRIPT)


def _bridges(stage: Stage) -> list[int]:
    return [pid for pid in stage.processes() if b"pi_subagents\0bridge" in command_line(pid)]


def _children(stage: Stage) -> list[str]:
    return [command for command in processes_below(stage.project) if "--no-prompt-templates" in command]


def _start_slow_call(pi: Pi, stage: Stage, requests: int) -> None:
    pi.send({"type": "prompt", "message": "Delegate."})
    stage.model.wait_for_requests(requests, WAIT_S)
    pi.hear_next(_is_thinking)


def _is_thinking(event: Event) -> bool:
    return event["type"] == "tool_execution_update" and "Thinking" in str(event["partialResult"])


def test_an_abort_leaves_no_child_and_what_was_seen_stays(stage: Stage) -> None:
    with Pi(stage) as pi:
        _start_slow_call(pi, stage, 2)
        assert _children(stage)
        pi.ask(type="abort")
        assert not _children(stage)
        (result,) = results(pi.said)
        assert "✗ slow: error — Cancelled (session: " in text_of(result)
        assert result["isError"]
        (window,) = result["result"]["details"]["windows"]
        assert (window["status"], window["reason"]) == ("error", "cancelled")
        assert len(_bridges(stage)) == 1
    until(lambda: not processes_below(stage.root))


def test_a_bridge_that_is_killed_in_a_call_is_started_again_and_tells_the_truth(stage: Stage) -> None:
    with Pi(stage) as pi:
        _start_slow_call(pi, stage, 2)
        (first,) = _bridges(stage)
        os.kill(first, signal.SIGKILL)
        result = pi.until_type("tool_execution_end")
        assert result["isError"]
        session_id = result["result"]["details"]["sessionIds"][0]
        assert text_of(result) == (
            "The pi-subagents bridge stopped: killed by SIGKILL. The call did not finish, and its sub-agents were "
            f"stopped. Read what they said so far with get_subagent_output: {session_id}."
        )
        notices = [event["message"] for event in pi.said if _is_notice(event)]
        assert notices == ["pi-subagents: the bridge stopped (killed by SIGKILL) and was restarted."]
        until(lambda: not _children(stage))
        # The model calls again, and gets another bridge.
        pi.hear_next(_is_thinking)
        assert load_run(stage.run_dirs[0]).reason is Reason.LOST
        (second,) = _bridges(stage)
        assert second != first
        os.kill(second, signal.SIGKILL)
        # In a circle of crashes it is not started by itself any more, but by the next call.
        assert pi.until_type("tool_execution_end")["isError"]
        assert not pi.until_type("tool_execution_end")["isError"]
        pi.until_type("agent_settled")
        _, notice = [event["message"] for event in pi.said if _is_notice(event)]
        assert notice.startswith(
            "pi-subagents: the bridge stopped (killed by SIGKILL); the next call restarts it. Log: "
        )


def test_a_bridge_that_is_killed_between_calls_is_there_again_before_the_next(stage: Stage) -> None:
    with Pi(stage) as pi:
        pi.command("/profile list")
        (first,) = _bridges(stage)
        os.kill(first, signal.SIGKILL)
        assert "was restarted" in pi.hear_next(_is_notice)["message"]
        (second,) = until(lambda: _bridges(stage))
        assert second != first


def _is_notice(event: Event) -> bool:
    return event.get("method") == "notify" and "bridge" in event["message"]


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, None])
def test_whatever_ends_pi_leaves_nothing_behind(stage: Stage, ending: signal.Signals | None) -> None:
    pi = Pi(stage)
    try:
        _start_slow_call(pi, stage, 2)
        if ending is not None:
            pi.process.send_signal(ending)
        else:
            pi.close()
        until(lambda: not processes_below(stage.root))
        assert load_run(stage.run_dirs[0]).status.is_terminal
    finally:
        pi.process.kill()
        pi.close()
