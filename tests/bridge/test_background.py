"""Background runs of a conversation: each end is told once, whoever was away meanwhile, and the footer counts."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

from pi_subagents.runs.background import LAUNCH_ENTRY
from pi_subagents.surfaces.bridge.background import BackgroundWatch
from pi_subagents.surfaces.bridge.entries import Log
from pi_subagents.surfaces.bridge.host import PiHost
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.testing import prints, script
from pi_subagents.testing.agent import exits, waits_for
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, assistant
from tests.bridge.kit import SESSION, Desk, Extension, plain
from tests.kit.desks import DONE
from tests.kit.json_lines import Message
from tests.kit.waiting import until
from tests.process.kit import PRESET

OTHER = "01990000-0000-7000-8000-000000000002"


def launch(bridge: Extension, *actions: Any) -> Message:
    """A background run; its row."""
    started = bridge.call("background_agent", {"preset": PRESET, "task": script(prints(AGENT_START), *actions)})
    row: Message = started["details"]["run"]
    return row


def entries(*bridges: Extension) -> list[Message]:
    """What pi would have in its log after these."""
    return [entry for bridge in bridges for entry in bridge.told("entry/append")]


def mark(row: Message) -> Path:
    return Path(row["paths"]["runDir"]) / "notified"


def shown(bridge: Extension, row: Message) -> Message:
    """The visible message of a run's end."""
    message: Message = bridge.hear(
        lambda said: said.get("method") == "message/show" and said["params"]["details"]["runId"] == row["runId"]
    )["params"]
    return message


def settle(bridge: Extension) -> None:
    """Hear everything that opening a conversation leads to."""
    bridge.heard("ui/status")
    bridge.call("list_subagent_profiles", {})
    bridge.call("background_agent_status", {})


def test_the_end_of_a_run_is_an_entry_a_status_a_notice_and_a_message(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        good = launch(bridge, waits_for(tmp_path / "go"), DONE)
        bad = launch(bridge, waits_for(tmp_path / "go"), exits(3))
        bridge.heard("ui/status", text="bg: 2 running / 2 total")
        (tmp_path / "go").touch()
        for row, status, level in ((good, "completed", "info"), (bad, "failed", "warning")):
            message = shown(bridge, row)
            assert message["type"] == "pi-subagents:bg-done"
            words, _, result = message["content"].partition("\n\n")
            assert words.startswith(f'Background agent "{PRESET}" {status}: ')
            assert message["details"]["status"] == status
            assert f"(run {row['runId']}, session {row['sessionId']})" in words
            assert result == ("All is well." if row is good else "")
            notice = bridge.heard("ui/notify", level=level)["message"]
            assert notice.startswith(f'Background agent "{PRESET}" {status}: ')
            assert len(notice) == 76, "it fits a narrow terminal"
        bridge.heard("ui/status", text="bg: 0 running / 2 total")
        kinds = [(entry["type"], entry["data"]["runId"]) for entry in entries(bridge)]
        for row in (good, bad):
            assert kinds.count(("pi-subagents:bg-run", row["runId"])) == 1
            assert kinds.count(("pi-subagents:bg-update", row["runId"])) == 1
        ended = next(e["data"] for e in entries(bridge) if e["type"] == "pi-subagents:bg-update")
        assert ended["completedAt"]
        until(lambda: mark(good).exists() and mark(bad).exists())


def row_at_the_end(bridge: Extension, row: Message) -> list[str]:
    """What the call that launched a run shows of its end."""
    update = bridge.hear(
        lambda said: (
            said.get("method") == "entry/append"
            and said["params"]["type"] == "pi-subagents:bg-update"
            and said["params"]["data"]["runId"] == row["runId"]
        )
    )["params"]["data"]
    return [plain(line) for line in update["view"]["rows"]]


def test_the_row_of_a_launch_says_how_the_run_has_ended_and_how_long_it_took(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        started = bridge.call("background_agent", {"preset": PRESET, "task": script(prints(AGENT_START), DONE)})
        head, _ids = started["details"]["view"]["rows"]
        assert [text for _style, text in head[-1:]] == [" • in the background"]
        good, bad = started["details"]["run"], launch(bridge, exits(3))
        for row, icon, status in ((good, "✓", "completed"), (bad, "✗", "failed")):
            first, *error, last = row_at_the_end(bridge, row)
            assert re.fullmatch(rf"{icon} {PRESET} • .* • {status} • [\d.]+s", first)
            assert bool(error) == (status == "failed")
            assert last == f"  run {row['runId']} • session {row['sessionId']}"


def test_a_launch_that_the_search_of_the_disk_found_sooner_is_written_down_once() -> None:
    row = {"runId": "run", "sessionId": "session", "paths": {"runDir": "/gone"}}
    host = SimpleNamespace(log=Log(), owner=SESSION)
    peer = Mock(spec=Peer)
    watch = BackgroundWatch(peer, cast(PiHost, host))
    host.log.take(LAUNCH_ENTRY, row)
    watch.launched(row)
    assert "entry/append" not in [call.args[0] for call in peer.notify.call_args_list]


def test_an_end_that_nobody_heard_is_told_when_the_conversation_is_opened_again_and_only_once(
    desk: Desk, tmp_path: Path
) -> None:
    with desk.bridge() as first:
        row = launch(first, waits_for(tmp_path / "go"), DONE)
    (tmp_path / "go").touch()
    until((Path(row["paths"]["runDir"]) / "result.json").exists)
    with desk.bridge(entries=entries(first)) as second:
        second.tell("session/start", desk.session(entries=entries(first)))  # pi says it twice in RPC mode
        assert second.heard("message/show")["details"]["runId"] == row["runId"]
        settle(second)
        assert len(second.told("message/show")) == 1
        assert [entry["type"] for entry in entries(second)] == ["pi-subagents:bg-update"]
    with desk.bridge(entries=entries(first, second), told=[row["runId"]]) as third:
        settle(third)
        assert not third.told("message/show")
        assert not entries(third)


def test_a_crash_between_message_and_mark_neither_loses_nor_repeats_the_message(desk: Desk) -> None:
    with desk.bridge() as first:
        row = launch(first, DONE)
        first.heard("message/show")
        until(mark(row).exists)
    mark(row).unlink()
    with desk.bridge(entries=entries(first), told=[row["runId"]]) as second:
        settle(second)
        assert not second.told("message/show")
        until(mark(row).exists)
    with desk.bridge(entries=entries(first)) as third:  # the message never got into the log
        assert third.heard("message/show")["details"]["runId"] == row["runId"]


def test_a_fork_shows_how_a_run_ended_but_only_the_owner_is_told_and_pays_once(desk: Desk, tmp_path: Path) -> None:
    spent = {"input": 100, "output": 20, "cacheRead": 3, "cacheWrite": 0, "totalTokens": 123, "cost": {"total": 0.5}}
    costly = prints(AGENT_START, assistant("Done.", usage=spent), agent_end(), AGENT_SETTLED)
    with desk.bridge() as first:
        row = launch(first, waits_for(tmp_path / "go"), costly)
    with desk.bridge(sessionId=OTHER, parentSession="/somewhere.jsonl", entries=entries(first)) as fork:
        (tmp_path / "go").touch()
        assert "completed" in row_at_the_end(fork, row)[0]
        settle(fork)
        assert not fork.told("message/show")
        assert not fork.told("usage/append")
        assert fork.told("ui/status") == [{"text": None}]
        assert "Done." in fork.call("background_agent_status", {"runId": row["runId"]})["text"]
        assert not mark(row).exists()
    with desk.bridge(entries=entries(first)) as owner:
        shown(owner, row)
        (told,) = owner.told("usage/append")
        assert told["model"]
        assert (told["usage"]["input"], told["usage"]["cost"]["total"]) == (100, 0.5)
    with desk.bridge(entries=entries(first, owner)) as again:
        shown(again, row)
        assert not again.told("usage/append")


def test_an_end_is_told_where_the_index_cannot_be_used(desk: Desk) -> None:
    with desk.bridge() as first:
        row = launch(first, DONE)
    until(lambda: not desk.stage.processes(), "nobody writes to the index any more")
    folder = Path(desk.environ["PI_AGENT_DIR"]) / "subagents"
    for index in folder.glob("index.sqlite3*"):
        index.unlink()
    (folder / "index.sqlite3").mkdir()
    log = [entry for entry in entries(first) if entry["type"] == "pi-subagents:bg-run"]
    with desk.bridge(entries=log) as second:
        assert shown(second, row)["details"]["status"] == "completed"


def test_one_bridge_can_serve_one_conversation_after_the_other(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        launch(bridge, waits_for(tmp_path / "go"), DONE)
        bridge.ask("session/shutdown", {"reason": "new"})
        log = entries(bridge)
        bridge.said.clear()
        bridge.tell("session/start", desk.session(reason="new", sessionId=OTHER))
        assert bridge.heard("ui/status") == {"text": None}
        (tmp_path / "go").touch()
        bridge.ask("session/shutdown", {"reason": "resume"})
        bridge.tell("session/start", desk.session(reason="resume", sessionId=SESSION, entries=log))
        bridge.heard("message/show")
        bridge.heard("ui/status", text="bg: 0 running / 1 total")


def test_a_log_that_is_damaged_does_no_harm(desk: Desk) -> None:
    strange: list[Any] = [None, 7, {}, {"type": "pi-subagents"}, {"type": "pi-subagents", "data": {"sessionId": 3}}]
    strange += [{"type": "pi-subagents:bg-run", "data": {"runId": []}}, {"type": "pi-subagents:bg-run", "data": []}]
    with desk.bridge(entries=strange, told=[None, {}, "nothing"]) as bridge:
        row = launch(bridge, DONE)
        assert bridge.heard("message/show")["details"]["runId"] == row["runId"]
