"""Whoever starts the server without a client is told so, instead of waiting for one."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.kit.waiting import PATIENCE_S
from tests.surfaces.mcp.kit import Desk, request


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_an_open_input_and_output_it_says_so_and_ends(desk: Desk, closed: str) -> None:
    started = ["sh", "-c", f'exec "$@" {closed}', "sh", *desk.argv()]
    with subprocess.Popen(started, env=desk.environ, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        assert process.wait(PATIENCE_S) == 1
        assert process.stderr is not None
        assert process.stderr.read().startswith("error: an MCP client needs standard input and output")


def test_without_an_open_standard_error_nothing_else_takes_its_place(desk: Desk) -> None:
    started = ["sh", "-c", 'exec "$@" 2>&-', "sh", *desk.argv()]
    with subprocess.Popen(started, env=desk.environ, stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request() + b"\n")
        process.stdin.flush()
        assert b"serverInfo" in process.stdout.readline()
        assert os.readlink(f"/proc/{process.pid}/fd/2") == os.devnull  # noqa: PTH115 - what it says, not where it leads


def test_a_person_at_a_terminal_is_told_what_it_waits_for(desk: Desk) -> None:
    here, there = os.openpty()
    process = subprocess.Popen(desk.argv(), env=desk.environ, stdin=there, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("hint: waiting for an MCP client on standard input")
    finally:
        process.kill()
        process.communicate()
        os.close(here)
        os.close(there)
