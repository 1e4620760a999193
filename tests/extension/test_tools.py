"""A parent model uses the tools through the extension, in the modes without a terminal."""

from __future__ import annotations

import json
import shlex
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from pi_subagents.harness.pi.programs import PI_VARIABLE
from pi_subagents.offline import Call, Fail, Request, Say, Script, Turn
from tests.extension.conftest import PlayWithExtension
from tests.extension.rpc import WAIT_S, Event, Pi, results, tells_of_an_end, text_of, updates
from tests.kit.waiting import until
from tests.pi.stage import Stage, processes_below

_ENTRIES = ("pi-subagents", "pi-subagents:bg-run", "pi-subagents:bg-update")


def _about(tool: str, find: Callable[[str], dict[str, Any]]) -> Callable[[Request], Call]:
    """A call about what an earlier result said."""
    return lambda request: Call(tool, find(request.tool_results[0 if tool.startswith("get") else -1].text))


def _session_in(text: str) -> dict[str, Any]:
    return {"sessionId": text.partition("session: ")[2].partition(")")[0]}


def _run_in(text: str) -> dict[str, Any]:
    return {"runId": next(word for word in text.replace('"', " ").split() if word.startswith("20")), "wait_s": WAIT_S}


_SCRIPT = (
    Script()
    .when(
        "Use all tools.",
        [
            Call("delegate_to_subagents", {"tasks": [{"name": "alpha", "prompt": "Work."}]}),
            _about("get_subagent_output", _session_in),
            _about("get_subagent_session", _session_in),
            Call("list_subagent_profiles"),
            Call("subagent", {"preset": "scout", "task": "Work."}),
            Call("background_agent", {"preset": "scout", "task": "Work."}),
            _about("background_agent_status", _run_in),
            Call("get_subagent_output", {"sessionId": "0000000000000000"}),
            Call("delegate_to_subagents", {"tasks": [{"name": "beta", "prompt": "Fail."}]}),
            Say("All used."),
            # Once more, in a pi that was started later.
            _about("get_subagent_output", _session_in),
            Say("Found again."),
        ],
    )
    .when("Fail.", [Fail(400, "no such thing")])
    .when("Work.", [Turn(text="Looking.", calls=(Call("bash", {"command": "echo seen"}),)), Say("It is done.")])
)


def test_a_profile_that_excludes_tools_leaves_all_the_others_that_pi_has_active_or_not(
    play_with_extension: PlayWithExtension,
) -> None:
    delegate = Call("delegate_to_subagents", {"tasks": [{"name": "alpha", "prompt": "Work.", "profile": "reader"}]})
    stage = play_with_extension(
        Script().when("Delegate.", [delegate, Say("Done.")]).when("Work.", [Say("It is done.")])
    )
    stage.write_profile("reader", "model: offline/scripted", "excludeTools: write, edit, bash")
    with Pi(stage) as pi:
        pi.prompt("Delegate.")
    offered = {request.first_user_text: set(request.tools) for request in stage.model.requests}
    assert "grep" not in offered["Delegate."], "pi's own default is what this test is about"
    assert offered["Work."] == {"read", "grep", "find", "ls"}


def test_a_parent_uses_all_seven_tools_and_finds_their_sessions_after_a_restart(
    play_with_extension: PlayWithExtension,
) -> None:
    stage = play_with_extension(_SCRIPT)
    with Pi(stage) as pi:
        events = pi.prompt("Use all tools.")
        _check_results(list(results(events)))
        _check_updates(list(updates(events)))
        notice = _custom_message(pi)
        stats = pi.ask(type="get_session_stats")
        entries = [event["entry"] for event in pi.said if event["type"] == "entry_appended"]
    _check_entries(entries)
    run_id = next(entry["data"]["runId"] for entry in entries if entry["customType"] == "pi-subagents:bg-run")
    assert notice["details"]["runId"] == run_id
    _check_spend(events, stats, entries)
    session = stats["sessionFile"]
    with Pi(stage, "--session", session) as again:
        (found,) = results(again.prompt("And now?"))
        assert "It is done." in text_of(found)
        # A run that was told of is not told of again.
        again.ask(type="new_session")
        assert not [event for event in again.said if tells_of_an_end(event)]
    until(lambda: not processes_below(stage.root))


def test_the_end_of_a_background_agent_is_told_without_a_turn_of_the_model(
    play_with_extension: PlayWithExtension,
) -> None:
    is_settled = threading.Event()

    def work(_request: Request) -> Say:
        assert is_settled.wait(WAIT_S)
        return Say("It is done.")

    launch = Call("background_agent", {"preset": "scout", "task": "Work."})
    script = Script().when("Launch.", [launch, Say("Launched."), Say("Not asked for.")]).when("Work.", [work])
    stage = play_with_extension(script)
    with Pi(stage) as pi:
        pi.prompt("Launch.")
        is_settled.set()
        words, result = _custom_message(pi)["content"].split("\n\n")
        assert words.startswith('Background agent "scout" completed: Work. (run ')
        assert result == "It is done.", "the model reads it in its next turn"
        assert not pi.ask(type="get_state")["isStreaming"]
        assert [event["type"] for event in pi.said].count("agent_start") == 1


def _check_results(found: list[Event]) -> None:
    assert [(event["toolName"], event["isError"]) for event in found] == [
        ("delegate_to_subagents", False),
        ("get_subagent_output", False),
        ("get_subagent_session", False),
        ("list_subagent_profiles", False),
        ("subagent", False),
        ("background_agent", False),
        ("background_agent_status", False),
        ("get_subagent_output", True),
        ("delegate_to_subagents", False),
    ]
    texts = [text_of(event) for event in found]
    assert texts[0].startswith("✓ alpha: completed (session: ")
    assert "It is done." in texts[1]
    assert "→ bash" in texts[2]
    assert "profile: writer" in texts[3]
    assert "It is done." in texts[4]
    assert "completed" in texts[6]
    assert texts[7] == ('Session "0000000000000000" not found. The session may have expired or the ID is incorrect.')
    assert "✗ beta: error — " in texts[8]
    (window,) = found[0]["result"]["details"]["windows"]
    assert [line["text"] for line in window["allMessages"]] == ["Looking.", "→ bash → echo seen", "It is done."]
    assert found[8]["result"]["details"]["windows"][0]["errors"]


def _check_updates(found: list[Event]) -> None:
    windows = [
        window for event in found for window in event["partialResult"]["details"].get("windows", []) if window["header"]
    ]
    assert any("→ bash → echo seen" in [line["text"] for line in window["lines"]] for window in windows)
    # pi writes each of them out in full.
    assert not [window for window in windows if "allMessages" in window]


def _custom_message(pi: Pi) -> dict[str, Any]:
    seen = next((event for event in pi.said if tells_of_an_end(event)), None) or pi.hear_next(tells_of_an_end)
    message: dict[str, Any] = seen["message"]
    return message


def _check_entries(entries: list[dict[str, Any]]) -> None:
    kinds = [entry["customType"] for entry in entries if entry["type"] == "custom"]
    assert set(kinds) == set(_ENTRIES)
    assert [kinds.count(kind) for kind in _ENTRIES] == [3, 1, 1]
    first = entries[0]["data"]
    assert (first["taskName"], first["status"], first["output"]) == ("alpha", "completed", "It is done.")


def _check_spend(events: list[Event], stats: dict[str, Any], entries: list[dict[str, Any]]) -> None:
    """What sub-agents have spent is in the parent's totals."""
    delegate = next(results(events))["result"]
    (window,) = delegate["details"]["windows"]
    assert delegate["usage"]["input"] == window["usage"]["input"] > 0
    assert delegate["usage"]["cost"]["total"] == window["usage"]["cost"] > 0
    messages = [event["message"] for event in events if event["type"] == "message_end"]
    spent = [message["usage"]["input"] for message in messages if message.get("usage")]
    (behind,) = [entry["data"]["usage"] for entry in entries if entry["customType"] == "pi-subagents:bg-update"]
    assert stats["tokens"]["input"] == sum(spent) + behind["input"]
    assert behind["input"] > 0


def test_json_mode_and_print_mode_have_the_same_tools_and_print_what_they_always_do(
    play_with_extension: PlayWithExtension,
) -> None:
    def say_when_the_end_was_told(_request: Request) -> Say:
        until(lambda: any((run_dir / "notified").exists() for run_dir in stage.run_dirs[-1:]))
        return Say("Launched.")

    launch = Call("background_agent", {"preset": "scout", "task": "Work."})
    stage = play_with_extension(_SCRIPT.when("Launch.", [launch, say_when_the_end_was_told]))
    in_json = _run(stage, "--mode", "json", "-p", "Use all tools.")
    events = [json.loads(line) for line in in_json.stdout.splitlines()]
    _check_results(list(results(events)))
    _check_updates(list(updates(events)))
    launched = _run(stage, "-p", "Launch.")
    assert (launched.stdout, launched.stderr) == ("Launched.\n", "")
    session = max((stage.agent_dir / "sessions").rglob("*.jsonl"), key=lambda file: file.stat().st_mtime)
    entries = [json.loads(line) for line in session.read_text().splitlines()]
    (told,) = [entry for entry in entries if entry.get("customType") == "pi-subagents:bg-done"]
    assert told["type"] == "custom"
    assert 'Background agent "scout" completed' in told["data"]["content"]
    until(lambda: not processes_below(stage.root))


def _run(stage: Stage, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*shlex.split(stage.environ[PI_VARIABLE]), *arguments],
        cwd=stage.project,
        env=stage.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done
