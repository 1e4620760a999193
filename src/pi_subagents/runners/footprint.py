"""What a process and everything below it takes: how many processes, how much memory."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_AGENT_BYTES = 150_000_000
_AGENTS_PER_CORE = 8
_MIN_AGENTS = 4
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Footprint:
    """Counted at one moment."""

    processes: int
    memory_bytes: int


def weigh(pid: int) -> Footprint:
    """The process and all its descendants; what ends meanwhile is not counted."""
    processes, memory = 0, 0
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            memory += int(Path(f"/proc/{current}/statm").read_text().split()[1]) * _PAGE
            processes += 1
            for task in Path(f"/proc/{current}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return Footprint(processes, memory)


def room_for_agents() -> int:
    """How many agents this machine takes without suffering: half of its memory, and so many for each core."""
    memory = os.sysconf("SC_PHYS_PAGES") * _PAGE
    cores = len(os.sched_getaffinity(0))
    return max(_MIN_AGENTS, min(memory // 2 // _AGENT_BYTES, cores * _AGENTS_PER_CORE))
