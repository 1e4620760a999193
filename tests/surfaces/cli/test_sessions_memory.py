"""However large a journal is, the commands that read it take about as much memory as for a small one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

from pi_subagents.models import Reason, Status
from pi_subagents.models import event as ev
from tests.kit.sessions import call, returns, says
from tests.surfaces.cli.desk import Desk

JOURNAL_BYTES = 24_000_000
MOST_MORE = 21_000_000
"""Beyond what a small session takes; each of these took more than the journal's size."""

LINE = "The quick brown fox jumps over the lazy dog, again and again.\n"

_COMMAND = """
import re, sys
from pi_subagents.surfaces.cli.app import main
try:
    main()
finally:
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
    sys.stderr.write(f"\\npeak {peak[1]}")
"""

Batch = Callable[[int], Sequence[ev.Event]]

JOURNALS: dict[str, Batch] = {
    "results": lambda n: [says("Look.", call(f"{n}", "bash", command="ls")), returns(f"{n}", "bash", LINE * 2000)],
    "pieces of a message": lambda n: [ev.Delta(kind="text", text=LINE * 500), ev.Delta(kind="thinking", text=LINE)],
    "calls without results": lambda n: [says(*(call(f"{n}-{m}", "bash", command=LINE * 100) for m in range(50)))],
    "large arguments": lambda n: [says(call(f"{n}", "write", content=LINE * 20_000))],
}
READERS: dict[str, tuple[str, ...]] = {
    "html": ("export", "--format", "html", "-o", "page.html"),
    "show": ("show",),
}


def peak(desk: Desk, session: str, arguments: tuple[str, ...]) -> int:
    """How many bytes the command took at most."""
    argv = [sys.executable, "-c", _COMMAND, "sessions", arguments[0], session, *arguments[1:]]
    done = subprocess.run(
        argv, cwd=desk.project, env=desk.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    said, _, kilobytes = done.stderr.decode().rpartition("peak ")
    assert done.returncode == 0, said
    return int(kilobytes) * 1024


def large_session(desk: Desk, batch: Batch) -> str:
    kept = desk.shelf.add(ends=None)
    assert kept.record is not None
    number = 0
    while kept.record.journal_bytes < JOURNAL_BYTES:
        kept.append(*batch(number))
        number += 1
    kept.append(says("Done."), ev.Exited(exit_code=0))
    kept.append(ev.Ended(at=1, status=Status.COMPLETED, reason=Reason.SETTLED))
    kept.let_go()
    return kept.session_id


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """What each command takes for a small session."""
    desk = Desk(tmp_path_factory.mktemp("small"))
    session = desk.shelf.add(says("Done.")).session_id
    return {name: peak(desk, session, reader) for name, reader in READERS.items()}


@pytest.mark.parametrize("journal", JOURNALS)
def test_reading_a_large_session_takes_little_more_memory_than_a_small_one(
    journal: str, desk: Desk, small: dict[str, int]
) -> None:
    large = large_session(desk, JOURNALS[journal])
    more = {name: peak(desk, large, reader) - small[name] for name, reader in READERS.items()}
    assert max(more.values()) < MOST_MORE, more
