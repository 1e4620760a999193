"""Tool calls over the bridge: results, updates, entries, cancelling; and messages that nobody understands."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from pi_subagents import __version__
from pi_subagents.surfaces.bridge import views
from pi_subagents.surfaces.bridge.calls import ToolCall, _Call, _Updates
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.testing import prints, run_on_virtual_clock, script
from pi_subagents.testing.agent import complains, pauses, touches, waits_for
from pi_subagents.testing.records import (
    AGENT_SETTLED,
    AGENT_START,
    agent_end,
    answer,
    assistant,
    tool_call,
    tool_result,
)
from pi_subagents.trust import Decisions
from tests.bridge.kit import HELLO, Desk, plain
from tests.bridge.patching import fold_patches
from tests.kit.desks import DONE
from tests.kit.json_lines import Message
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import MODEL, PRESET, tasks
from tests.progress.windows_kit import CREATED, STARTED, feed, window_of
from tests.progress.windows_kit import assistant as said

SPENT = {"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1, "totalTokens": 18, "cost": {"total": 0.25}}
POWER, POWERLESS = "extensions: ./x.ts", '"extensions" (loads code) cannot be used'
PAID = prints(AGENT_START, assistant("Paid.", usage=SPENT), agent_end(), AGENT_SETTLED)


def test_every_tool_answers_with_text_details_and_rows(desk: Desk) -> None:
    with desk.bridge() as bridge:
        delegated = bridge.delegate([DONE], [PAID], profile="quick")
        session_id, _ = delegated["details"]["sessionIds"]
        assert delegated["text"].startswith(f"✓ task 1: completed (session: {session_id}) (profile: quick")
        first = delegated["details"]["windows"][0]
        assert first["lines"] == first["allMessages"] == [{"text": "All is well.", "kind": "text"}]
        assert first["header"][0] == {"line": [["success", "✓"], ["text", " "], ["bold", "task 1"]]}
        assert {part.get("keep") for part in first["header"]} == {None, 0, 1, 4, 5}
        assert delegated["details"]["view"]["status"] == [["title", "Sub-agents: "], ["success", "2 done"]]
        assert ["accent", session_id] in delegated["details"]["view"]["footer"]

        output = bridge.output(session_id)
        assert output["text"] == "All is well."
        assert output["details"]["view"] == {"rows": [[["text", "All is well."]]]}
        assert "All is well." in bridge.call("get_subagent_session", {"sessionId": session_id})["text"]
        listed = bridge.call("list_subagent_profiles", {})
        assert listed["details"]["view"]["rows"] == [[["text", listed["text"]]]]

        single = bridge.call("subagent", {"preset": PRESET, "task": script(PAID)})
        assert (single["text"], single["isError"]) == ("Paid.", False)
        assert single["details"]["view"]["rows"][0][:3] == [["success", "✓"], ["text", " "], ["bold", PRESET]]

        started = bridge.call("background_agent", {"preset": PRESET, "task": script(prints(AGENT_START), DONE)})
        run_id = started["details"]["run"]["runId"]
        assert ["accent", run_id] in started["details"]["view"]["rows"][1]
        status = bridge.call("background_agent_status", {"runId": run_id, "wait_s": PATIENCE_S})
        assert status["text"].endswith("All is well.")
        assert status["details"]["view"]["rows"][1][0] == ["success", "✓"]


def test_the_spend_of_foreground_runs_is_told_as_pi_counts_it(desk: Desk) -> None:
    with desk.bridge() as bridge:
        assert bridge.delegate([PAID], [PAID])["usage"] == {
            "input": 20,
            "output": 10,
            "cacheRead": 4,
            "cacheWrite": 2,
            "totalTokens": 36,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5},
        }
        assert bridge.call("subagent", {"preset": PRESET, "task": script(PAID)})["usage"]["totalTokens"] == 18
        assert bridge.call("list_subagent_profiles", {})["usage"] is None


def test_every_foreground_run_leaves_an_entry_when_it_ends_and_not_later(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        call = bridge.begin_tasks([DONE], [waits_for(tmp_path / "go"), DONE], profile="quick")
        first = bridge.heard("entry/append", type="pi-subagents")["data"]
        assert (first["taskName"], first["status"], first["output"]) == ("task 1", "completed", "All is well.")
        assert first["profileName"] == "quick"
        assert first["messages"][-1]["content"] == [{"type": "text", "text": "All is well."}]
        (tmp_path / "go").touch()
        bridge.result(call)
        bridge.call("delegate_to_subagents", {"tasks": [{"name": "lost", "prompt": "x", "profile": "nobody"}]})
        entries = [entry["data"] for entry in bridge.told("entry/append")]
        assert [(entry["taskName"], entry["status"]) for entry in entries] == [
            ("task 1", "completed"),
            ("task 2", "completed"),
            ("lost", "error"),
        ]
        assert 'Unknown profile: "nobody"' in entries[2]["errorMessage"]


def test_updates_add_up_to_the_result_and_say_nothing_twice(desk: Desk, tmp_path: Path) -> None:
    lines = [f"line {number} of a long story" for number in range(300)]
    parts = [lines[start : start + 30] for start in range(0, 300, 30)]
    saying = [each for part in parts for each in (prints(*map(assistant, part)), waits_for(tmp_path / part[-1]))]
    with desk.bridge() as bridge:
        call = bridge.begin_tasks([prints(AGENT_START), *saying, DONE])
        for part in parts:  # each is told before there is more to be told
            bridge.hear(lambda message, last=part[-1]: last in json.dumps(message))  # type: ignore[misc]
            (tmp_path / part[-1]).touch()
        result = bridge.result(call)
        patches = [update["patch"] for update in bridge.told("tool/update")]
    assert len(patches) >= len(parts)
    assert fold_patches(patches) == result["details"]
    pushed = [
        line["text"] for patch in patches for window in patch.get("windows", []) for line in window.get("push", [])
    ]
    assert pushed == [*lines, "All is well."]
    windows = [window for patch in patches for window in patch.get("windows", [])]
    assert sum("sessionId" in window.get("set", {}) for window in windows) == 1
    assert sum("sessionIds" in patch.get("set", {}) for patch in patches) == 1
    assert sum(len(json.dumps(patch)) for patch in patches) < 8 * sum(map(len, lines))


def test_updates_of_several_presets_name_each_run_once_and_say_what_it_does(desk: Desk, tmp_path: Path) -> None:
    works = [
        {"preset": PRESET, "task": script(prints(AGENT_START, assistant(text)), waits_for(tmp_path / "seen"), DONE)}
        for text in ("I read.", "I write.")
    ]
    with desk.bridge() as bridge:
        call = bridge.begin_call("subagent", {"tasks": works})

        def rows(update: Message) -> list[str]:
            view = update.get("params", {}).get("patch", {}).get("set", {}).get("view", {})
            return [plain(line).rpartition(" • ")[0] for line in view.get("rows", [])]

        bridge.hear(lambda message: rows(message) == [f"⏳ {PRESET} • I read.", f"⏳ {PRESET} • I write."])
        (tmp_path / "seen").touch()
        bridge.result(call)


def test_a_result_below_an_earlier_call_is_put_in_its_place(desk: Desk, tmp_path: Path) -> None:
    calls = [tool_call("ls", "1", path="a"), tool_call("ls", "2", path="b")]
    steps = [
        prints(AGENT_START, assistant("Looking.", *calls)),
        waits_for(tmp_path / "seen"),
        prints(tool_result("ls", "x\ny/", "1")),
        prints(tool_result("ls", "z", "2")),
        DONE,
    ]
    with desk.bridge() as bridge:
        call = bridge.begin_tasks(steps)
        bridge.hear(lambda message: "ls → b" in json.dumps(message, ensure_ascii=False))
        (tmp_path / "seen").touch()
        details = bridge.result(call)["details"]
        patches = [update["patch"] for update in bridge.told("tool/update")]
    texts = [line["text"] for line in details["windows"][0]["lines"]]
    assert texts == ["Looking.", "→ ls → a", "  1 file, 1 dir", "→ ls → b", "  1 file", "All is well."]
    outputs = [line.get("output") for line in details["windows"][0]["allMessages"]]
    assert outputs == [None, None, ["x", "y/"], None, ["z"], None]
    assert fold_patches(patches) == details
    assert any("drop" in window for patch in patches for window in patch.get("windows", []))


def test_the_clock_of_a_silent_call_goes_on_and_updates_come_at_most_twenty_times_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer, window = Mock(spec=Peer), window_of(CREATED, STARTED)
    counts = []

    async def call() -> None:
        loop, updates = asyncio.get_running_loop(), _Updates(peer, "c")
        start_ms = STARTED.at - round(loop.time() * 1000)
        monkeypatch.setattr(views, "now_ms", lambda: start_ms + round(loop.time() * 1000))
        async with updates.sending():
            for number in range(1000):
                feed(window, said(f"{number}"))
                updates.take_windows([window])
                await asyncio.sleep(0.002)
            counts.append(peer.notify.call_count)
            await asyncio.sleep(4)

    run_on_virtual_clock(call())
    (flood,) = counts
    assert 35 <= flood <= 40, "two seconds"
    patches = [given.args[1]["patch"] for given in peer.notify.call_args_list[flood + 1 :]]
    parts = [change["set"]["header"][-2:] for patch in patches for change in patch["windows"]]
    assert ["".join(plain(part["line"]) for part in time) for time in parts] == [f" • {s}s/600s" for s in (3, 4, 5, 6)]


def test_a_cancelled_call_answers_how_each_task_ended_and_leaves_no_agent(desk: Desk, tmp_path: Path) -> None:
    desk.stage.write_settings(warmAgents=False)
    with desk.bridge() as bridge:
        call = bridge.begin_tasks([DONE], [touches(tmp_path / "there"), pauses(300)])
        until((tmp_path / "there").exists)
        bridge.heard("entry/append", type="pi-subagents")
        bridge.tell("tool/cancel", {"call": "c"})
        bridge.tell("tool/cancel", {"call": "c"})
        result = bridge.result(call)
        assert result["isError"]
        first, second = result["text"].split("\n")
        assert first.startswith("✓ task 1: completed")
        assert second.startswith("✗ task 2: error — Cancelled")
        assert [window["status"] for window in result["details"]["windows"]] == ["completed", "error"]
        assert result["details"]["windows"][1]["errors"] == [[["error", "Cancelled"]]]
        assert desk.agents() == []
        bridge.call("background_agent_status", {"wait_s": 100})


def test_a_call_that_is_cancelled_again_is_not_cut_short_while_it_stops_its_agents() -> None:
    work = Mock(asyncio.Task)
    call = _Call(ToolCall("c", "delegate_to_subagents"), Mock(_Updates), work=work)
    call.cancel()
    call.cancel()
    work.cancel.assert_called_once_with()


def test_a_wait_can_be_cancelled_and_the_background_run_goes_on(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        task = script(prints(AGENT_START), waits_for(tmp_path / "go"), DONE)
        run_id = bridge.call("background_agent", {"preset": PRESET, "task": task})["details"]["run"]["runId"]
        arguments = {"runId": run_id, "wait_s": 300}
        call = bridge.begin_call("background_agent_status", arguments, "w")
        bridge.tell("tool/cancel", {"call": "w"})
        assert bridge.result(call)["isError"]
        (tmp_path / "go").touch()
        assert "All is well." in bridge.call("background_agent_status", {"runId": run_id, "wait_s": PATIENCE_S})["text"]


def test_a_launch_is_not_cut_short_for_nobody_would_know_of_its_run(desk: Desk) -> None:
    with desk.bridge() as bridge:
        asked = {"preset": PRESET, "task": script(DONE)}
        call = bridge.begin_call("background_agent", asked, "b")
        bridge.tell("tool/cancel", {"call": "b"})
        result = bridge.result(call)
        assert not result["isError"]
        bridge.call("background_agent_status", {"runId": result["details"]["run"]["runId"], "wait_s": PATIENCE_S})


def test_calls_run_side_by_side(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        one = bridge.begin_tasks([touches(tmp_path / "one"), waits_for(tmp_path / "two"), DONE])
        second = {"preset": PRESET, "task": script(waits_for(tmp_path / "one"), touches(tmp_path / "two"), DONE)}
        two = bridge.begin_call("subagent", second, "2")
        assert not bridge.result(one)["isError"]
        assert not bridge.result(two)["isError"]


def test_what_is_wrong_with_a_call_is_a_result_in_red(desk: Desk) -> None:
    with desk.bridge() as bridge:
        result = bridge.call("delegate_to_subagents", {"tasks": [{"prompt": "x"}]})
        assert result["isError"]
        assert "name is required" in result["text"]
        assert result["details"]["view"]["rows"] == [[["error", result["text"]]]]
        assert bridge.call("delegate_to_agents", {})["isError"]
        missing = bridge.output("0123456789abcdef")
        assert missing["text"].startswith('Session "0123456789abcdef" not found.')


def test_excluded_tools_are_taken_from_those_that_pi_has(desk: Desk) -> None:
    desk.stage.write_profile("careful", "excludeTools: bash")
    with desk.bridge() as bridge:
        bridge.tell("host/tools", {"names": ["read", "bash", "lookup", "delegate_to_subagents", "subagent"]})
        bridge.delegate([DONE], profile="careful")
    (run_dir,) = desk.stage.run_dirs
    argv = json.loads((run_dir / "meta.json").read_text())["argv"]
    assert argv[argv.index("--tools") + 1] == "read,lookup"


def test_a_model_that_pi_offers_needs_no_asking_and_another_is_still_asked_for(desk: Desk) -> None:
    with desk.bridge() as bridge:
        bridge.tell("host/models", {"models": [{"provider": "acme", "id": "new", "name": "New", "reasoning": False}]})
        known = bridge.call("subagent", {"preset": PRESET, "task": script(DONE), "model": "acme/new"})
        assert not known["isError"]
        assert not (Path(desk.environ["PI_AGENT_DIR"]) / "subagents" / "models-offered.json").exists()
        asked = bridge.call("subagent", {"preset": PRESET, "task": script(DONE), "model": MODEL})
        assert not asked["isError"]
        assert bridge.call("subagent", {"preset": PRESET, "task": "x", "model": "acme/none"})["isError"]


@pytest.mark.parametrize(("trusted", "flag"), [(True, "--approve"), (False, "--no-approve"), (None, None)])
def test_what_was_decided_about_the_project_holds_for_its_agents_and_profiles(
    desk: Desk, trusted: bool | None, flag: str | None
) -> None:
    """The project of this desk is trusted for good; a session in which it is not is told no."""
    below = desk.stage.project / "below"
    below.mkdir()
    desk.stage.write_profile("power", POWER)
    with desk.bridge(trusted=trusted) as bridge:
        bridge.delegate([DONE])
        bridge.delegate([DONE], cwd=str(below))
        powerful = bridge.delegate([DONE], profile="power")
    assert (POWERLESS in powerful["text"]) is (trusted is False)
    here, elsewhere = (json.loads((run / "meta.json").read_text())["argv"] for run in desk.stage.run_dirs[:2])
    assert {"--approve", "--no-approve"} & set(here) == ({flag} if flag else set())
    assert not {"--approve", "--no-approve"} & set(elsewhere), "nobody decided about that directory"


def test_where_nothing_was_to_be_decided_nothing_was(desk: Desk, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    with desk.bridge(cwd=str(bare)) as bridge:
        bridge.delegate([DONE])
    (run_dir,) = (bare / ".pi" / "subagents" / "runs").glob("2*")
    assert "--approve" not in json.loads((run_dir / "meta.json").read_text())["argv"]


def test_a_stray_print_or_a_complaint_reaches_nobody_but_the_window(desk: Desk) -> None:
    with desk.bridge() as bridge:
        result = bridge.delegate([complains("careful\n"), DONE])
        # Two pipes: which of them is read first, nobody can say.
        assert sorted(line["text"] for line in result["details"]["windows"][0]["lines"]) == [
            "All is well.",
            "[stderr]: careful",
        ]


def test_messages_that_are_not_understood_do_no_harm(desk: Desk) -> None:
    with desk.bridge() as bridge:
        bridge.write(b"{no json\n")
        assert bridge.hear(lambda message: message.get("id", 0) is None)["error"]["code"] == -32700
        bridge.tell("unheard/of", {})
        bridge.tell("session/start", {"nothing": "of use"})
        bridge.tell("tool/cancel", {"call": "nobody"})
        bridge.send({"id": 99, "result": "to no question"})
        assert bridge.answer(bridge.begin("no/such", {}))["error"]["code"] == -32601
        assert bridge.answer(bridge.begin("tool/call", {"name": 7}))["error"]["code"] == -32602
        assert not bridge.call("list_subagent_profiles", {})["isError"]


def test_a_message_that_is_too_long_is_refused_and_the_next_one_heard(desk: Desk) -> None:
    with desk.bridge() as bridge:
        bridge.write(b'"' + b"x" * (32 * 1024 * 1024) + b'"\n')
        assert "too large" in bridge.hear(lambda message: message.get("id", 0) is None)["error"]["message"]
        assert not bridge.call("list_subagent_profiles", {})["isError"]


def test_another_protocol_is_refused_with_what_to_do_about_it(desk: Desk) -> None:
    with desk.bridge(greet=False) as bridge:
        refusal = bridge.answer(bridge.begin("hello", {**HELLO, "protocol": 2, "extension": "9.0"}))
        assert "pi-subagents install pi" in refusal["error"]["message"]
        assert "9.0" in refusal["error"]["message"]
        assert bridge.ask("hello", HELLO)["version"] == __version__


def test_nothing_that_the_handshake_does_not_need_is_loaded_for_it(desk: Desk) -> None:
    said = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": HELLO}).encode()
    answer, loaded = desk.first_answer(said)
    assert answer["protocol"] == 1
    unwanted = {"mcp", "textual", "rich", "asyncio", "msgspec", "pi_subagents.tools", "ruamel"}
    assert unwanted & loaded == set()


def test_pi_saying_yes_below_a_project_says_nothing_about_the_project(desk: Desk) -> None:
    project = desk.stage.project
    Decisions(Path(desk.stage.environ["PI_AGENT_DIR"])).revoke(project)
    below = project / "below"
    (below / ".agents" / "skills").mkdir(parents=True)  # something for pi to ask about
    desk.stage.write_profile("power", POWER)
    with desk.bridge(trusted=True, cwd=str(below)) as bridge:
        result = bridge.delegate([DONE], profile="power")
    assert POWERLESS in result["text"]


def test_previews_are_as_wide_as_pis_screen_allows_and_follow_its_changes(desk: Desk, tmp_path: Path) -> None:
    desk.stage.write_settings(commandPreviewWidth=30)
    first, second = (assistant("", tool_call("find", call_id, pattern="x" * 200)) for call_id in ("1", "2"))
    steps = [prints(AGENT_START, first), waits_for(tmp_path / "go"), prints(second, *answer("Done."))]
    with desk.bridge() as bridge:
        bridge.tell("host/columns", {"columns": 100})
        call = bridge.begin_tasks(steps)
        bridge.hear(lambda message: "find → xxx" in str(message))
        bridge.tell("host/columns", {"columns": 60})
        bridge.call("list_subagent_profiles", {}, call="d")  # by now it is known
        (tmp_path / "go").touch()
        lines = bridge.result(call)["details"]["windows"][0]["lines"]
    widths = [len(line["text"].removeprefix("→ ")) for line in lines if line["kind"] == "tool"]
    assert widths == [96, 56]


def test_what_is_wrong_with_the_settings_is_told_to_the_person_once_and_not_to_the_model(desk: Desk) -> None:
    desk.stage.write_settings(maxLinesPerWindow="many")
    with desk.bridge() as bridge:
        answers = [bridge.call("delegate_to_subagents", tasks([DONE]), call=str(number)) for number in range(2)]
        preset = bridge.call("subagent", {"tasks": [{"preset": PRESET, "task": script(DONE)}]}, call="s")
        told = [notice for notice in bridge.told("ui/notify") if notice["level"] == "warning"]
    (warning,) = answers[0]["details"]["warnings"]
    assert "subagents.maxLinesPerWindow" in warning
    assert [notice["message"] for notice in told] == [f"pi-subagents: {warning}"]
    for answer_ in (*answers, preset):
        assert answer_["details"]["warnings"] == [warning]
        assert "maxLinesPerWindow" not in answer_["text"]
        assert "maxLinesPerWindow" not in str(answer_["details"].get("view"))
