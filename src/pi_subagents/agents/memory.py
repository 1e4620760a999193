"""Whether memory is short here: on the machine, or in a control group that has less.

Idle agents are the first thing that can go then. Where nothing is known, nothing is short.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SHORT_PART = 0.1
_SHORT_BYTES = 1_000_000_000
"""A large machine is not short of memory as soon as a tenth is left: this much is enough for any."""


def is_short(total_bytes: int, available_bytes: int) -> bool:
    """Whether idle processes should make room, where so much of so much could still be had."""
    return available_bytes < min(total_bytes * _SHORT_PART, _SHORT_BYTES)


def memory_is_short(root: Path = Path("/")) -> bool:
    """Whether it is, as the kernel below that directory tells."""
    return any(is_short(*memory) for memory in (*_of_machine(root), *_of_groups(root)))


def _of_machine(root: Path) -> Iterator[tuple[int, int]]:
    with suppress(OSError, KeyError, ValueError):
        figures = dict(re.findall(r"^(\w+): +(\d+) kB$", (root / "proc/meminfo").read_text(), re.MULTILINE))
        yield int(figures["MemTotal"]) * 1024, int(figures["MemAvailable"]) * 1024


def _of_groups(root: Path) -> Iterator[tuple[int, int]]:
    """Our group (version 2) and those that it is in: the limit of each holds for all below it."""
    with suppress(OSError):
        if found := re.search(r"^0::/(.*)$", (root / "proc/self/cgroup").read_text(), re.MULTILINE):
            own = Path(found[1])
            for group in (own, *own.parents):
                yield from _of_group(root / "sys/fs/cgroup" / group)


def _of_group(folder: Path) -> Iterator[tuple[int, int]]:
    with suppress(OSError, ValueError):  # there is none, or it has no limit
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        idle = re.search(r"^inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
        # Files that nobody has read for a while are counted as used, but make room by themselves.
        yield limit, limit - used + int(idle[1] if idle else 0)
