"""A fork of a session knows what was run in it, and only the session that launched a run is told of its end."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.offline import Call, Request, Say, Script
from pi_subagents.store import load_run
from tests.extension.conftest import PlayWithExtension
from tests.extension.rpc import Event, Pi, results, tells_of_an_end, text_of
from tests.kit.waiting import until
from tests.pi.stage import processes_below


def _told(events: list[Event]) -> list[str]:
    return [event["message"]["details"]["runId"] for event in events if tells_of_an_end(event)]


def _read_first(request: Request) -> Call:
    session_id = request.tool_results[0].text.partition("(session ")[2].partition(")")[0]
    return Call("get_subagent_output", {"sessionId": session_id})


def test_a_fork_finds_the_sessions_and_only_the_owner_is_told_of_an_end(
    play_with_extension: PlayWithExtension, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    wait = Call("bash", {"command": f"until [ -e {gate} ]; do sleep 0.05; done"})
    script = (
        Script()
        .when("Wait.", [wait, Say("Waited.")])
        .when("Work.", [Say("Worked.")])
        .otherwise(
            [
                Call("background_agent", {"preset": "scout", "task": "Wait."}),
                Say("Started."),
                Call("background_agent", {"preset": "scout", "task": "Work."}),
                _read_first,
                Say("Read."),
            ]
        )
    )
    stage = play_with_extension(script)
    with Pi(stage) as pi:
        pi.prompt("Go.")
        parent = pi.ask(type="get_session_stats")["sessionFile"]
        pi.ask(type="clone")
        gate.touch()
        (first,) = stage.run_dirs
        until(lambda: load_run(first).status.is_terminal)
        start = len(pi.said)
        found = list(results(pi.prompt("Go on.")))
        assert "Waited." in text_of(found[1])
        if not _told(pi.said[start:]):
            pi.hear_next(tells_of_an_end)
        (_, second) = stage.run_dirs
        assert _told(pi.said) == [second.name], "the fork launched only the second"
    with Pi(stage, "--session", parent) as owner:
        owner.hear_next(tells_of_an_end)
        assert _told(owner.said) == [first.name]
    until(lambda: not processes_below(stage.root))
