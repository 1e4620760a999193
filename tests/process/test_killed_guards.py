"""An agent that kills its own guard gains nothing: what it had started is stopped, and its run says what happened."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pi_subagents.runners.guard import children_of
from pi_subagents.runners.orphans import is_subreaper
from tests.kit.processes import state_of
from tests.kit.waiting import PATIENCE_S, until, until_async
from tests.process.attacks import ATTACKS, alive, start
from tests.process.kit import Stage

REPOSITORY = Path(__file__).parents[2]
TRIES = int(os.environ.get("SOAK_TRIES", "4"))
ORDINARY_USER = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--securebits=+noroot,+noroot_locked"]
"""Root without any of its powers; another user might not reach the interpreter."""
BEARS_A_MARK = """
import os, resource, sys
from pi_subagents.runners.orphans import _MARKS
resource.setrlimit(resource.RLIMIT_RTTIME, (_MARKS[100],) * 2)
os.execv(sys.argv[1], sys.argv[1:])
"""
SENTENCE = "The agent's guard was killed; everything the agent had started was stopped"


@pytest.mark.parametrize("inside", [False, True], ids=["a user's program", "a sub-agent's program"])
def test_whoever_kills_the_guard_at_random_and_however_everything_of_the_agent_ends(inside: bool) -> None:
    tries = 1 if inside else TRIES
    powerless = ORDINARY_USER if os.geteuid() == 0 and shutil.which("setpriv") else []
    marked = [sys.executable, "-c", BEARS_A_MARK] if inside else []
    done = subprocess.run(
        [*powerless, *marked, sys.executable, "-m", "tests.process.attacks", str(tries)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        timeout=2 * PATIENCE_S + 2 * tries,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["name"] for each in told] == list(ATTACKS)
    for each in told:
        assert each["outcomes"] == [[False, f"{SENTENCE}\n"]] * tries, each["name"]
        assert each["children"] == [], "the dead were not collected"


async def test_the_run_says_that_its_guard_was_killed(plain_stage: Stage, tmp_path: Path) -> None:
    agent = tmp_path / "agent.sh"
    agent.write_text("#!/bin/sh\n(trap '' TERM; exec setsid sleep 900) & kill -9 $PPID; sleep 900\n")
    agent.chmod(0o755)
    result = await plain_stage.run(environ={"PI_SUBAGENTS_PI": str(agent)}, harness="pi-json")
    assert (result.status, result.reason, result.exit_code) == ("failed", "exit", 137)
    assert result.error == f"Sub-agent exited with code 137 before it finished: {SENTENCE}"
    assert plain_stage.processes() == []


def test_children_of_the_program_around_are_neither_killed_nor_collected(tmp_path: Path) -> None:
    busy = subprocess.Popen(["sleep", "900"])
    ended = subprocess.Popen(["sh", "-c", "exit 7"])
    until(lambda: state_of(ended.pid) == "Z")
    daemon = 0
    try:
        daemon = asyncio.run(_see_a_guard_killed(tmp_path / "go"))
        assert busy.poll() is None
        until(lambda: state_of(daemon) == "S", "it sleeps")
        assert ended.wait(PATIENCE_S) == 7
    finally:
        busy.kill()
        busy.wait()
        if daemon:
            os.kill(daemon, signal.SIGKILL)
            os.waitpid(daemon, 0)


async def _see_a_guard_killed(go: Path) -> int:
    """Returns a grandchild of the program's own, which became its child because agents were at work."""
    victim = start(["sh", "-c", f"until [ -e '{go}' ]; do sleep 0.01; done; setsid sleep 900 & kill -9 $PPID; sleep 9"])
    daemon = await asyncio.to_thread(_daemonise)
    until(lambda: daemon in children_of(os.getpid()))
    await asyncio.to_thread(go.touch)
    async with asyncio.timeout(PATIENCE_S):
        await victim.code
    assert victim.said.decode() == f"{SENTENCE}\n"
    return daemon


def _daemonise() -> int:
    return int(subprocess.check_output(["sh", "-c", "setsid sleep 900 >/dev/null & echo $!"]))


async def test_the_agents_of_other_runs_go_on() -> None:
    other = start(["sh", "-c", "trap 'exit 5' TERM; echo heeds >&2; while :; do sleep 0.01; done"])
    assert is_subreaper()
    await until_async(lambda: other.said == b"heeds\n", "the other agent heeds signals")
    victim = start(["sh", "-c", "kill -9 $PPID; sleep 900"])
    async with asyncio.timeout(PATIENCE_S):
        await victim.code
        assert not other.code.done()
        assert is_subreaper(), "one who is still at work would lose its orphans"
        other.process.terminate()
        assert await other.code == 5
    assert SENTENCE.encode() not in other.said


async def test_a_program_without_agents_is_no_sub_reaper() -> None:
    assert not is_subreaper()
    end = start(["true"])
    assert is_subreaper()
    await end.code
    assert not is_subreaper()


@pytest.mark.parametrize("stops_it", ["kill -STOP $PPID", "while :; do kill -STOP $PPID; done"], ids=["once", "always"])
async def test_an_agent_that_stops_its_guard_is_killed_all_the_same(stops_it: str) -> None:
    number = str(int.from_bytes(os.urandom(6)))
    end = start(["sh", "-c", f"setsid sleep 900.{number} & ({stops_it}) & exec sleep 900.{number}"])
    guard = end.process.pid
    until(lambda: state_of(guard) == "T")
    end.process.kill()
    async with asyncio.timeout(PATIENCE_S):
        await end.code
    assert alive(number) == []


async def test_a_forked_copy_of_the_program_takes_care_of_its_own_agents() -> None:
    end = start(["sleep", "900"])
    assert await asyncio.to_thread(_answer_of_a_copy) == b"01"
    end.process.kill()
    await end.code


def _answer_of_a_copy() -> bytes:
    answer, told = os.pipe()
    if (copy := os.fork()) == 0:
        with suppress(BaseException):
            was = is_subreaper()
            asyncio.new_event_loop().run_until_complete(_start_one())
            os.write(told, b"%d%d" % (was, not is_subreaper()))
        os._exit(0)
    os.close(told)
    os.waitpid(copy, 0)
    with os.fdopen(answer, "rb") as said:
        return said.read()


async def _start_one() -> None:
    victim = start(["sh", "-c", "kill -9 $PPID; sleep 900"])
    assert is_subreaper()
    await victim.code
    assert SENTENCE.encode() in victim.said
