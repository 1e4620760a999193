"""The fakes that users of the package get: they must not lie, or every test that trusts them does."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pi_subagents import Task, delegate
from pi_subagents.harness import Invocation
from pi_subagents.runners import Process, Runner
from pi_subagents.testing import (
    SCRIPT_VARIABLE,
    SCRIPTED_AGENT,
    FakeProcess,
    FakeRunner,
    answer,
    prints,
    run_on_virtual_clock,
    script,
)
from pi_subagents.testing.agent import exits
from tests.kit.waiting import PATIENCE_S

INVOCATION = Invocation(("pi",), {}, Path("/"), b"")


class Heard:
    """A sink that takes note."""

    def __init__(self) -> None:
        self.output: list[tuple[str, bytes]] = []
        self.exit_codes: list[int] = []

    def on_output(self, stream: str, data: bytes) -> None:
        self.output.append((stream, data))

    def on_replaced(self, pid: int, containment: str) -> None: ...

    def on_exit(self, exit_code: int) -> None:
        self.exit_codes.append(exit_code)


def test_hours_pass_in_no_time_and_in_order() -> None:
    async def main() -> tuple[list[str], float]:
        done: list[str] = []

        async def after(hours: float, name: str) -> None:
            await asyncio.sleep(hours * 3600)
            done.append(name)

        await asyncio.gather(after(5, "five"), after(1, "one"), after(24, "a day"))
        return done, asyncio.get_running_loop().time()

    started = time.monotonic()
    assert run_on_virtual_clock(main()) == (["one", "five", "a day"], 24 * 3600)
    assert time.monotonic() - started < PATIENCE_S


def test_waiting_for_what_cannot_happen_is_an_error_and_not_a_hang() -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="this would hang for ever"):
        run_on_virtual_clock(main())


def test_work_for_threads_is_done_on_the_spot_and_its_errors_arrive() -> None:
    async def main() -> int:
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        return await asyncio.to_thread(lambda: 6 * 7)

    assert run_on_virtual_clock(main()) == 42


def test_a_fake_process_prints_exits_once_and_is_silent_after_it() -> None:
    async def play(process: FakeProcess) -> int:
        process.prints({"type": "agent_start"})
        process.writes(b"oh", "stderr")
        return 3

    async def main() -> tuple[Heard, list[tuple[str, float]]]:
        heard = Heard()
        runner: Runner = FakeRunner(play)
        async with runner.slot(INVOCATION) as slot:
            process: Process = slot.start(heard)
        await asyncio.sleep(1)
        process.terminate()
        assert isinstance(process, FakeProcess)
        process.writes(b"too late")
        await asyncio.sleep(1)
        return heard, process.signals

    heard, signals = run_on_virtual_clock(main())
    assert heard.output == [("stdout", b'{"type": "agent_start"}\n'), ("stderr", b"oh")]
    assert (heard.exit_codes, signals) == ([3], [("terminate", 1)])


@pytest.mark.parametrize(("ignored", "exit_code"), [((), 143), (("terminate",), 137)])
def test_a_fake_process_ends_as_a_real_one_would(ignored: tuple[str, ...], exit_code: int) -> None:
    async def play(_: FakeProcess) -> int:
        await asyncio.sleep(3600)
        return 0

    async def main() -> list[int]:
        heard = Heard()
        async with FakeRunner(play, ignores=ignored).slot(INVOCATION) as slot:
            process = slot.start(heard)
        process.terminate()
        await asyncio.sleep(1)
        process.kill()
        await asyncio.sleep(1)
        return heard.exit_codes

    assert run_on_virtual_clock(main()) == [exit_code]


async def test_a_prompt_that_is_no_script_is_answered_with_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*SCRIPTED_AGENT)
    tasks = [Task("plain", "Say it back."), Task("scripted", script(prints(*answer("Hello"))))]
    results = await delegate(tasks, cwd=tmp_path)
    assert [(result.status, result.output) for result in results] == [
        ("completed", "Say it back."),
        ("completed", "Hello"),
    ]


def test_the_scripted_agent_exits_as_told_and_may_get_its_script_in_a_variable() -> None:
    command = SCRIPTED_AGENT[1].split()
    ran = subprocess.run(command, env={SCRIPT_VARIABLE: script(exits(7))}, stdin=subprocess.DEVNULL, check=False)
    assert (ran.returncode, command[0]) == (7, sys.executable)
