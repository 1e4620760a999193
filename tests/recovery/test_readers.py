"""Any number of readers may find a lost run at the same moment: it is closed once, and all are told the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pi_subagents.models import Reason, Status
from pi_subagents.outcome import LOST_SENTENCE
from pi_subagents.store import JOURNAL_FILE, LEASE_FILE, RESULT_FILE, is_held, load_run
from tests.kit.waiting import PATIENCE_S
from tests.process.kit import Stage
from tests.recovery.kit import Holders, ends_in, kill_after, start_half_way

READERS = 10

# Every reader says that it is ready and waits for the gate to open before it looks.
_READER = """
import sys
from pathlib import Path
from pi_subagents.store import load_run, reading
reading._CLOSING_S = float(sys.argv[2])  # how long the others wait is a matter of the machine
print("ready", flush=True)
sys.stdin.readline()
state = load_run(Path(sys.argv[1]))
print(state.status, state.reason, state.completed_at, flush=True)
"""


def lose_a_run(stage: Stage, holders: Holders) -> Path:
    """A run that had something to say when its holder was killed."""
    pid, run_dir = start_half_way(stage, holders)
    kill_after(pid, 0)
    return run_dir


def test_a_live_run_is_told_apart_from_a_lost_one(stage: Stage, holders: Holders) -> None:
    pid, run_dir = start_half_way(stage, holders)
    (run_dir / LEASE_FILE).unlink()  # which changes nothing
    assert is_held(run_dir)
    state = load_run(run_dir)
    assert (state.status, state.text) == (Status.RUNNING, "half way")
    kill_after(pid, 0)
    assert not is_held(run_dir)
    for _ in range(2):
        state = load_run(run_dir)
        assert (state.status, state.reason, state.error) == (Status.FAILED, Reason.LOST, LOST_SENTENCE)
        assert state.text == "half way"
    assert ends_in(run_dir) == 1


def test_ten_readers_close_a_lost_run_once_and_agree(stage: Stage, holders: Holders) -> None:
    run_dir = lose_a_run(stage, holders)
    readers = [_start_reader(run_dir) for _ in range(READERS)]
    for reader in readers:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
    for reader in readers:
        assert reader.stdin is not None
        reader.stdin.write("go\n")
        reader.stdin.flush()
    answers = {reader.communicate(timeout=PATIENCE_S)[0] for reader in readers}
    assert len(answers) == 1
    assert answers.pop().startswith("failed lost ")
    assert ends_in(run_dir) == 1


def _start_reader(run_dir: Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", _READER, str(run_dir), str(PATIENCE_S)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_lost_run_on_a_read_only_disk_is_told_truly_all_the_same(stage: Stage, holders: Holders) -> None:
    run_dir = lose_a_run(stage, holders)
    before = (run_dir / JOURNAL_FILE).read_bytes()
    assert _read_as_nobody(run_dir) == "failed lost"
    assert (run_dir / JOURNAL_FILE).read_bytes() == before
    assert not (run_dir / RESULT_FILE).exists()


def _read_as_nobody(run_dir: Path) -> str:
    """Read a run as somebody who may look but not write."""
    for folder in [run_dir, *run_dir.parents]:
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    for file in run_dir.iterdir():
        file.chmod(0o644)
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from pi_subagents.store import load_run\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "else: Path(sys.argv[1]).chmod(0o555); [f.chmod(0o444) for f in Path(sys.argv[1]).iterdir()]\n"
        "state = load_run(Path(sys.argv[1]))\n"
        "print(state.status, state.reason)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(run_dir)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("torn", [b'{"type":"mess', b'{"type":"message","role":"\xc3', b"\x00\x00\x00"])
def test_a_torn_last_line_is_repaired(torn: bytes, stage: Stage, holders: Holders) -> None:
    run_dir = lose_a_run(stage, holders)
    journal = run_dir / JOURNAL_FILE
    whole = journal.read_bytes()
    journal.write_bytes(whole + torn)
    assert load_run(run_dir).reason is Reason.LOST
    repaired = journal.read_bytes()
    assert repaired.startswith(whole + b'{"type":"ended"')
    assert repaired.count(b"\n") == whole.count(b"\n") + 1
