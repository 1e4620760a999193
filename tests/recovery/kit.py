"""Holders to kill, and what must be true of their runs afterwards."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pi_subagents.fold import RunState
from pi_subagents.models import Reason, Status
from pi_subagents.outcome import LOST_SENTENCE
from pi_subagents.store import JOURNAL_FILE, RESULT_FILE, is_held, load_run
from pi_subagents.testing import Action, script
from pi_subagents.testing.agent import pauses, prints
from pi_subagents.testing.records import AGENT_START, assistant
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import Stage

_REPOSITORY = Path(__file__).parents[2]


class Holders:
    """The program that makes holders."""

    def __init__(self) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.recovery.holders"],
            cwd=_REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, stage: Stage, *scripts: list[Action], **order: Any) -> int:
        """A holder of one run per script; returns its process id."""
        prompts = [script(*actions) for actions in scripts]
        order |= {"project": str(stage.project), "environ": stage.environ, "prompts": prompts}
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        return int(self._program.stdout.readline())

    def close(self) -> None:
        """End the program; holders go on."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait(PATIENCE_S)
        self._program.stdout.close()


def kill_after(pid: int, seconds: float) -> None:
    """Kill a holder after a while, unless it has finished by then, and wait until it is gone."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        finished, _, _ = select.select([pidfd], [], [], seconds)
        if not finished:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        ended, _, _ = select.select([pidfd], [], [], PATIENCE_S)
        assert ended, "the holder did not end"
    finally:
        os.close(pidfd)


def start_half_way(stage: Stage, holders: Holders) -> tuple[int, Path]:
    """A holder whose agent has said something and goes on for ever, and its run."""
    pid = holders.start(stage, [prints(AGENT_START, assistant("half way")), pauses(300)])
    until(lambda: stage.run_dirs and b'"role":"assistant"' in (stage.run_dirs[0] / JOURNAL_FILE).read_bytes())
    (run_dir,) = stage.run_dirs
    return pid, run_dir


def ends_in(run_dir: Path) -> int:
    """How often it says in a journal that the run has ended."""
    return sum(b'"type":"ended"' in line for line in (run_dir / JOURNAL_FILE).read_bytes().splitlines())


def journals(stage: Stage) -> dict[Path, bytes]:
    """The complete lines of every journal, as they are on the disk now."""
    found = {}
    for run_dir in stage.run_dirs:
        data = (run_dir / JOURNAL_FILE).read_bytes()
        found[run_dir] = data[: data.rfind(b"\n") + 1]
    return found


def check_truth(stage: Stage) -> list[RunState]:
    """After a holder's death every run is over, truly, with all that was journalled, and nobody is left."""
    before = journals(stage)
    # A child that the holder was about to turn into an agent has its lease until then, and no mark of the stage yet.
    until(lambda: not stage.processes() and not any(map(is_held, stage.run_dirs)))
    states = [load_run(run_dir) for run_dir in stage.run_dirs]
    for run_dir, state in zip(stage.run_dirs, states, strict=True):
        after = (run_dir / JOURNAL_FILE).read_bytes()
        assert after.startswith(before[run_dir]), "a journalled event is missing"
        assert after.endswith(b"\n")
        assert state.status.is_terminal
        _check_verdict(state, before[run_dir])
        assert json.loads((run_dir / RESULT_FILE).read_text())["status"] == state.status
        assert load_run(run_dir) == state, "a second reader is told something else"
    return states


def _check_verdict(state: RunState, journal: bytes) -> None:
    ends = [record for line in journal.splitlines() if (record := json.loads(line))["type"] == "ended"]
    if ends:  # by its holder, or by another holder that met it when it looked through the project
        assert [end["reason"] for end in ends] == [state.reason]
    else:
        assert (state.status, state.reason, state.error) == (Status.FAILED, Reason.LOST, LOST_SENTENCE)
