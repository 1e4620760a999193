"""The control socket: private, found through the run directory, deaf to nonsense, gone with its run."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from pathlib import Path
from typing import cast

import pytest

from pi_subagents import paths
from pi_subagents.models.event import SteerRequested
from pi_subagents.paths import runtime_dir
from pi_subagents.runs import live
from pi_subagents.runs.live import ask_holder, serving
from pi_subagents.store import JOURNAL_FILE, read_journal
from pi_subagents.supervisor import Supervisor
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import ignores_abort, ignores_sigterm, pauses, repeats_steering, waits_for
from pi_subagents.testing.records import AGENT_SETTLED
from tests.background.kit import Yard
from tests.kit.waiting import PATIENCE_S, until

NONSENSE = (
    b"",
    b"\xff\xfe\x00",
    b"null",
    b"5",
    b"[]",
    b'{"run": 7, "op": "stop"}',
    b'{"run": "/somewhere/else", "op": "stop"}',
    b"[" * 200_000,
)


def socket_of(run_dir: Path) -> Path:
    return Path(until(lambda: (run_dir / "control").read_text()))


def send(address: Path, data: bytes) -> bytes:
    """Say something to a socket and hear the answer, which may be none."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE_S)
        line.connect(str(address))
        try:
            line.sendall(data)
            with line.makefile("rb") as answers:
                return answers.readline()
        except ConnectionError:
            return b""


async def test_the_socket_is_private_short_and_gone_with_its_run_although_somebody_says_nothing_to_it(
    yard: Yard, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    run_dir = await yard.launch(waits_for(gate), prints(*answer("done")))
    address = socket_of(run_dir)
    assert stat.S_ISSOCK(address.lstat().st_mode)
    assert stat.S_IMODE(address.lstat().st_mode) == 0o600
    assert stat.S_IMODE(address.parent.lstat().st_mode) == 0o700
    assert len(str(address)) < 100
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(address))
        gate.touch()
        assert (await yard.see_the_end(run_dir))["status"] == "completed"
        until(lambda: not yard.keepers())
    until(lambda: not address.exists() and not (run_dir / "control").exists())
    assert ask_holder(run_dir, {"op": "steer", "text": "too late"}) is None


async def test_nonsense_does_not_hurt_and_steering_still_arrives(yard: Yard) -> None:
    run_dir = await yard.launch(repeats_steering(), prints(AGENT_SETTLED))
    address = socket_of(run_dir)
    run = json.dumps(str(run_dir)).encode()
    ours = [b"{}", b'{"op": "steer"}', b'{"op": "steer", "text": 5}', b'{"op": "dance"}']
    for nonsense in [*NONSENSE, *(b'{"run": ' + run + b", " + request[1:] for request in ours)]:
        assert json.loads(send(address, nonsense + b"\n"))["ok"] is False, nonsense[:80]
    until(lambda: b'"agent_started"' in (run_dir / JOURNAL_FILE).read_bytes())
    assert ask_holder(run_dir, {"op": "steer", "text": "half of a pair: \ud83d"}) == {"ok": True, "error": None}
    row = await yard.see_the_end(run_dir)
    assert (row["status"], row["finalText"]) == ("completed", "half of a pair: ?")
    told = [event.text for event in read_journal(run_dir / JOURNAL_FILE) if isinstance(event, SteerRequested)]
    assert told == ["half of a pair: ?"]


async def test_a_request_without_end_is_cut_off_without_a_word(tmp_path: Path) -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: problems.append(context))
    async with serving({tmp_path: cast(Supervisor, None)}):
        address = await asyncio.to_thread(socket_of, tmp_path)
        assert await asyncio.to_thread(send, address, b"x" * (live._MAX_REQUEST_BYTES + 1024)) == b""
        assert json.loads(await asyncio.to_thread(send, address, b"\n"))["ok"] is False
    assert problems == []


@pytest.mark.parametrize("stubborn", [False, True], ids=["polite", "stubborn"])
async def test_a_run_that_is_stopped_is_aborted_however_the_agent_takes_it(yard: Yard, stubborn: bool) -> None:
    run_dir = await yard.launch_at_work(*([ignores_abort(), ignores_sigterm()] if stubborn else []))
    assert ask_holder(run_dir, {"op": "stop", "message": "Enough"}) == {"ok": True}
    row = await yard.see_the_end(run_dir)
    assert (row["status"], row["reason"], row["error"]) == ("aborted", "cancelled", "Enough")
    until(lambda: not yard.stage.processes())


def test_the_runtime_directory_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fallback = Path(f"/tmp/pi-subagents-{os.getuid()}")
    assert runtime_dir() == fallback
    short = Path("/tmp") / f"x{os.urandom(4).hex()}"
    short.mkdir(mode=0o700)
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
        assert runtime_dir() == short / "pi-subagents"
        (short / "pi-subagents").chmod(0o777)
        assert runtime_dir() == fallback
        (short / "pi-subagents").rmdir()
        (short / "pi-subagents").symlink_to(tmp_path)
        assert runtime_dir() == fallback
        (short / "pi-subagents").unlink()
        # As after `su`: the variable leads to a directory that ends with somebody else's session.
        monkeypatch.setattr("os.getuid", lambda: os.geteuid() + 1)
        assert next(paths._runtime_candidates()) == Path(f"/tmp/pi-subagents-{os.geteuid() + 1}")
    finally:
        short.rmdir()


@pytest.mark.parametrize("value", ["/no/such/directory", "relative", "/tmp/" + "long" * 40])
def test_a_runtime_directory_that_cannot_be_used_is_passed_over(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", value)
    assert runtime_dir() == Path(f"/tmp/pi-subagents-{os.getuid()}")


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_without_any_place_for_sockets_runs_are_kept_all_the_same(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nowhere() -> Path:
        raise PermissionError("nowhere")

    monkeypatch.setattr("pi_subagents.store.slots.runtime_dir", nowhere)
    gate = tmp_path / "gate"
    first = await yard.launch(waits_for(gate), prints(*answer("first")))
    second = await yard.launch(prints(*answer("second")))
    assert (await yard.see_the_end(second))["finalText"] == "second"
    gate.touch()
    assert (await yard.see_the_end(first))["finalText"] == "first"


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_launchers_with_different_runtime_directories_meet_the_same_queue(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    await yard.launch(pauses(300))
    await yard.launch(pauses(300))
    short = Path("/tmp") / f"x{os.urandom(4).hex()}"
    short.mkdir(mode=0o700)
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(short))
        third = await yard.launch(pauses(300))
        until(lambda: len(yard.queues()) == 1)
        assert (await yard.row(third))["queued"]
        assert list(short.iterdir()) == []
    finally:
        short.rmdir()
