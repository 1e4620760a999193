"""The tools over HTTP: for clients on this machine, or with a token; never for a web page."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from pi_subagents.testing.agent import pauses, touches
from tests.kit.desks import DONE
from tests.kit.waiting import until, until_async
from tests.process.kit import tasks
from tests.surfaces.mcp.kit import Desk, post, request, text_of

TOKEN = "0123456789abcdef0123456789abcdef"
INITIALIZE = request()


@pytest.fixture
def url(either_desk: Desk) -> Iterator[str]:
    """A server that waits for its clients as long as usual."""
    with either_desk.http_server() as url:
        yield url


@pytest.fixture
def impatient_url(either_desk: Desk) -> Iterator[str]:
    """A server whose clients count as gone after three seconds."""
    with either_desk.http_server("--silence", "3") as url:
        yield url


async def test_a_client_delegates_reads_back_and_hears_of_progress(either_desk: Desk, url: str) -> None:
    said: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        said.append(message)

    async with either_desk.connected(url) as client:
        assert len((await client.list_tools()).tools) == 7
        result = await client.call_tool("delegate_to_subagents", tasks([DONE]), progress_callback=on_progress)
        session_id = result.structured_content["tasks"][0]["sessionId"]
        output = await client.call_tool("get_subagent_output", {"sessionId": session_id})
        assert text_of(output) == "All is well."
        assert (await client.session.call_tool("get_subagent_output", {"sessionId": "x"})).is_error
        outputs = [client.call_tool("get_subagent_output", {"sessionId": session_id}) for _ in range(20)]
        assert {text_of(each) for each in await asyncio.gather(*outputs)} == {"All is well."}
    assert said


async def test_a_cancelled_call_stops_its_agents(either_desk: Desk, url: str, tmp_path: Path) -> None:
    async with either_desk.connected(url) as client:
        call = asyncio.create_task(
            client.call_tool("delegate_to_subagents", tasks([touches(tmp_path / "ready"), pauses(300)]))
        )
        await until_async((tmp_path / "ready").exists)
        call.cancel()
        await asyncio.wait([call])
        await until_async(lambda: not either_desk.agents())
        assert len((await client.list_tools()).tools) == 7


def test_a_client_that_is_gone_without_a_word_does_not_keep_its_agents(
    either_desk: Desk, impatient_url: str, tmp_path: Path
) -> None:
    program = f"""
import asyncio, json
from mcp import Client
async def main():
    async with Client({impatient_url!r}, mode={either_desk.era!r}) as client:
        await client.call_tool("delegate_to_subagents", {tasks([touches(tmp_path / "ready"), pauses(300)])!r})
asyncio.run(main())
"""
    client = either_desk.stage.start([sys.executable, "-c", program], either_desk.environ)
    until((tmp_path / "ready").exists)
    client.kill()
    client.wait()
    until(lambda: not either_desk.agents())


async def test_a_client_that_is_only_silent_for_a_while_keeps_them(desk: Desk, tmp_path: Path) -> None:
    with desk.http_server("--silence", "3") as url:
        async with desk.connected(url) as client:
            result = await client.call_tool("delegate_to_subagents", tasks([pauses(5), DONE]))
    assert text_of(result).startswith("✓ task 1: completed")


def test_requests_of_web_pages_and_for_other_hosts_are_refused(desk: Desk) -> None:
    with desk.http_server() as url:
        port = urlsplit(url).port
        assert post(url, INITIALIZE) == 200
        assert post(url, INITIALIZE, Origin="https://example.org") == 403
        assert post(url, INITIALIZE, Origin=f"http://127.0.0.1:{port}") == 200
        assert post(url, INITIALIZE, Host="example.org") == 421
        assert post(url, INITIALIZE, Host=f"localhost:{port}") == 200


def test_malformed_and_oversized_requests_are_refused(desk: Desk) -> None:
    with desk.http_server() as url:
        assert post(url, b"{") == 400
        assert post(url, b'{"jsonrpc": "3"}') == 400
        assert post(url, b" " * (17 * 1024 * 1024)) == 413
        assert post(url, INITIALIZE) == 200


async def test_with_a_token_nobody_gets_in_without_it(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text(TOKEN + "\n")
    with desk.http_process("--token-file", str(file)) as (url, _process):
        assert post(url, INITIALIZE) == 401
        assert post(url, INITIALIZE, Authorization="Bearer wrong") == 401
        assert post(url, INITIALIZE, Authorization=f"Basic {TOKEN}") == 401
        assert post(url, INITIALIZE, Authorization=f"bearer {TOKEN}") == 200
        authorized = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"})
        async with authorized, desk.connected(streamable_http_client(url, http_client=authorized)) as client:
            assert len((await client.list_tools()).tools) == 7


async def test_without_a_word_about_it_a_token_is_made_told_once_and_kept(desk: Desk) -> None:
    file = Path(desk.environ["PI_AGENT_DIR"]) / "subagents" / "mcp-token"
    with desk.http_process() as (url, process):
        token = file.read_text().strip()
        assert file.stat().st_mode & 0o777 == 0o600
        assert len(token) >= 32
        lines = until_document_ends(process)
        assert str(file) in lines[0]
        told = json.loads("".join(lines[1:]))["mcpServers"]["pi-subagents"]
        assert told == {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
        assert post(url, INITIALIZE) == 401
        assert post(url, INITIALIZE, Authorization=f"Bearer {token[:-1]}") == 401
        assert post(url, INITIALIZE, Authorization="Bearer") == 401
        authorized = httpx2.AsyncClient(headers=told["headers"])
        async with authorized, desk.connected(streamable_http_client(url, http_client=authorized)) as client:
            assert len((await client.list_tools()).tools) == 7
    with desk.http_process() as (url, process):
        assert file.read_text().strip() == token, "clients that know it would be locked out"
        assert token not in "".join(until_document_ends(process))
        assert post(url, INITIALIZE, Authorization=f"Bearer {token}") == 200


def test_without_a_token_it_says_what_that_means(desk: Desk) -> None:
    with desk.http_process("--no-token") as (url, process):
        assert process.stderr is not None
        assert "every program on this machine can start agents as you" in process.stderr.readline()
        assert post(url, INITIALIZE) == 200


def until_document_ends(process: subprocess.Popen[str]) -> list[str]:
    """The lines of standard error up to the end of the configuration in it."""
    assert process.stderr is not None
    lines = [process.stderr.readline()]
    while lines[-1] not in ("}\n", ""):
        lines.append(process.stderr.readline())
    return lines


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--http", "192.0.2.1:8790"], "192.0.2.1 can be reached from other machines"),
        (["--http", "0.0.0.0:8790"], "0.0.0.0 means every address of this machine"),
        (["--http", "somewhere"], '"somewhere" is not an address'),
        (["--http", "127.0.0.1:99999"], '"127.0.0.1:99999" is not an address'),
        (["--http", "127.0.0.1:0", "--token-file", "short"], "is shorter than 16 characters"),
        (["--http", "127.0.0.1:0", "--token-file", "open"], "other users can read the token file"),
        (["--http", "127.0.0.1:0"], "other users can read the token file"),
        (["--http", "127.0.0.1:0", "--token-file", "lines"], "is not one word of ASCII characters"),
        (["--http", "127.0.0.1:0", "--token-file", "missing"], "cannot be read"),
        (["--http", "127.0.0.1:0", "--silence", "0.5"], "--silence must be 0 (never) or at least 1 second, not 0.5"),
        (["--token-file", "open"], "--token-file needs --http"),
        (["--no-token"], "--no-token needs --http"),
        (["--http", "127.0.0.1:0", "--no-token", "--token-file", "open"], "cannot be used together"),
        (["--http", "192.0.2.1:8790", "--no-token"], "192.0.2.1 can be reached from other machines"),
        (["--tools", "subagent,nothing"], "--tools: unknown: nothing; choose from"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_sentence(desk: Desk, options: list[str], sentence: str) -> None:
    usual = str(desk.stage.agent_dir / "subagents" / "mcp-token")
    for name, text, mode in (
        ("short", "abc", 0o600),
        ("open", TOKEN, 0o644),
        (usual, TOKEN, 0o644),
        ("lines", f"{TOKEN}\n{TOKEN}", 0o600),
    ):
        desk.stage.write(name, text).chmod(mode)
    done = desk.stage.command("mcp", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr
