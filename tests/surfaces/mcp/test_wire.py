"""What is not a proper message is answered and does no harm; nothing but messages is ever written to the client."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pi_subagents.store import load_run
from pi_subagents.surfaces.mcp.handshake import MAX_MESSAGE_BYTES
from pi_subagents.testing import prints
from pi_subagents.testing.agent import ignores_sigterm, leaves_behind, pauses, touches
from pi_subagents.testing.records import answer
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import tasks
from tests.surfaces.mcp.kit import INTRODUCTION, Desk, RawClient, request, text_of


@pytest.fixture
def raw(desk: Desk) -> Iterator[RawClient]:
    """A client that has shaken hands."""
    client = RawClient(desk)
    client.shake_hands()
    yield client
    client.process.kill()
    client.close()


NO_MESSAGES: dict[str, tuple[bytes, int | str | None, int]] = {
    "text": (b"this is not JSON", None, -32700),
    "half": (b'{"jsonrpc": "2.0", "id": 1,', None, -32700),
    "no utf-8": (b"\xff\xfe", None, -32700),
    "deep": (b"[" * 100_000, None, -32700),
    "list": (b"[1, 2, 3]", None, -32600),
    "other version": (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', 1, -32600),
    "no method": (b'{"jsonrpc": "2.0", "id": "a"}', "a", -32600),
    "half a character": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "\\ud800"}}', 1, -32600),
    "half a character as id": (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', "?", -32600),
    "fraction as id": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', None, -32600),
    "oversized": (b'"' + b"x" * (MAX_MESSAGE_BYTES + 1) + b'"', None, -32600),
}


def test_what_is_no_message_is_refused_and_the_next_one_is_answered(raw: RawClient) -> None:
    for what, (line, request_id, code) in NO_MESSAGES.items():
        raw.write(line + b"\n")
        refused = raw.answer()
        assert (refused["id"], refused["error"]["code"]) == (request_id, code), what
        raw.request(2, "ping")
        assert raw.answer() == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_prompt_of_ten_megabytes_goes_through(raw: RawClient, desk: Desk) -> None:
    call = tasks([prints(*answer("Long."))])
    call["tasks"][0]["prompt"] += " " * 10_000_000
    raw.call(3, "delegate_to_subagents", call)
    assert raw.answer()["result"]["content"][0]["text"].startswith("✓ task 1: completed")


def test_methods_that_do_not_exist_and_odd_parameters_are_refused(raw: RawClient) -> None:
    raw.request(4, "tools/destroy")
    assert raw.answer()["error"]["code"] == -32601
    raw.request(5, "tools/call", name=5)
    assert raw.answer()["error"]["code"] == -32602


def test_a_client_killed_during_a_delegation_leaves_no_agent_and_a_session_that_others_resume(
    desk: Desk, tmp_path: Path
) -> None:
    import asyncio

    stubborn = [ignores_sigterm(), leaves_behind(daemon=True), touches(tmp_path / "ready"), pauses(300)]
    # The client is a process of its own that starts the server, as an editor would.
    program = f"""
import json, subprocess, sys
server = subprocess.Popen({desk.argv()!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def say(message):
    server.stdin.write(json.dumps({{"jsonrpc": "2.0", **message}}).encode() + b"\\n"); server.stdin.flush()
say({{"id": 0, "method": "initialize", "params": {INTRODUCTION!r}}})
server.stdout.readline()
say({{"method": "notifications/initialized"}})
call = {{"name": "delegate_to_subagents", "arguments": {tasks(stubborn)!r}}}
say({{"id": 1, "method": "tools/call", "params": call}})
for line in server.stdout: pass
"""
    client = desk.stage.start(["python3", "-c", program], desk.environ)
    until((tmp_path / "ready").exists)
    client.send_signal(signal.SIGKILL)
    client.wait()
    until(lambda: not desk.stage.processes())  # 5 s of grace; the rest is for a busy machine
    (run_dir,) = desk.stage.run_dirs
    state = load_run(run_dir)
    assert state.status.is_terminal

    async def resume() -> str:
        call = tasks([prints(*answer("Carried on."))], resume=state.session_id)
        async with desk.client() as other:
            return text_of(await other.call_tool("delegate_to_subagents", call))

    assert asyncio.run(resume()).startswith("✓ task 1: completed")


def test_a_signal_stops_the_agents_before_the_server_ends(raw: RawClient, desk: Desk, tmp_path: Path) -> None:
    raw.call(1, "delegate_to_subagents", tasks([touches(tmp_path / "ready"), pauses(300)]))
    until((tmp_path / "ready").exists)
    raw.process.send_signal(signal.SIGTERM)
    assert raw.process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert desk.stage.processes() == []
    (run_dir,) = desk.stage.run_dirs
    assert load_run(run_dir).status == "aborted"


def test_a_client_that_does_not_read_does_not_keep_the_server_from_ending(desk: Desk) -> None:
    with subprocess.Popen(desk.argv(), cwd=desk.stage.project, env=desk.environ, stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request() + b"\n" + request(method="ping", params={}) + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        assert process.stdout.readline()
        with suppress(BrokenPipeError):
            process.stdin.write((request(method="tools/list", params={}) + b"\n") * 30)
            process.stdin.flush()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM


def test_the_server_ends_with_its_input_and_logs_to_a_file(raw: RawClient, desk: Desk) -> None:
    raw.write(b"nonsense\n")
    raw.answer()
    assert raw.close() == 0
    log = Path(desk.environ["PI_AGENT_DIR"]) / "subagents" / "mcp.log"
    assert "could not be understood" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
