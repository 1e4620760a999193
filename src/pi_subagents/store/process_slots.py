"""The slots of agent processes on this machine: who has one, who waits for one, which agents in them are idle.

All of it is told by locks, which the kernel frees when their holder dies: nobody who is gone has a slot or waits for
one. What is written into the files is only believed while they are locked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.models.idle_agent import IdleAgent
from pi_subagents.store.lease import Lease, is_locked
from pi_subagents.store.slots import Slots

_SIGN_FILE = "wanted"
_MAX_NOTE_BYTES = 512
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class ProcessSlot(Lease):
    """One slot. While its agent is idle, the file says so to whoever asks what is kept on this machine."""

    number = 0

    def tell_idle(self, agent: IdleAgent | None) -> None:
        """What waits in this slot; None if nothing does."""
        with suppress(OSError):  # nobody depends on it
            os.ftruncate(self.fileno(), 0)
            if agent is not None:
                os.pwrite(self.fileno(), msgspec.json.encode(agent), 0)

    def release(self) -> None:
        """Give the slot up; harmless when called twice."""
        if self.fileno() >= 0:
            self.tell_idle(None)
        super().release()


class SlotRequest:
    """Asks whoever keeps idle agents for the slot of one, until the end of the block.

    One of those who wait holds the sign, whoever comes first; the others try again whenever they repeat their request.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._sign: Lease | None = None

    def repeat(self) -> None:
        """There is still no slot."""
        with suppress(OSError):  # then we wait until one is free anyway
            if self._sign is None and (sign := Lease.of_file(self._path)) is not None:
                self._sign = sign
                os.ftruncate(sign.fileno(), 0)
                os.pwrite(sign.fileno(), str(self._limit).encode(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._sign is not None:
            self._sign.release()


class ProcessSlots(Slots):
    """The slots for agent processes of everybody with the same agent directory."""

    @classmethod
    def of(cls, agent_dir: Path, limit: int) -> Self | None:
        """None where they cannot be kept."""
        try:
            return cls(_folder(agent_dir), limit)
        except OSError:
            return None

    def take(self) -> ProcessSlot | None:
        """A free one, or None."""
        for number in range(self.limit):
            if (slot := ProcessSlot.of_file(self._folder / str(number))) is not None:
                slot.number = number
                slot.tell_idle(None)  # what a host said that was killed
                return slot
        return None

    def request(self) -> SlotRequest:
        """For whoever waits."""
        return SlotRequest(self._folder / _SIGN_FILE, self.limit)

    def wanted(self) -> range:
        """The slots of which somebody needs any; none if one of them is free, for then it is there to be taken."""
        with _opened(self._folder / _SIGN_FILE) as fd, suppress(OSError, ValueError):
            if is_locked(fd):
                wanted = range(int(os.pread(fd, _MAX_NOTE_BYTES, 0)))
                return wanted if all(_is_held(self._folder / str(number)) for number in wanted) else range(0)
        return range(0)


def idle_agents(agent_dir: Path) -> list[IdleAgent]:
    """All idle agents on this machine, as their hosts tell, longest idle first; what is no such word is left out."""
    found = []
    with suppress(OSError):
        for path in _folder(agent_dir).iterdir():
            if path.name.isdecimal() and (agent := _idle_in(path)) is not None:
                found.append(agent)
    return sorted(found, key=lambda agent: agent.since)


def _folder(agent_dir: Path) -> Path:
    return agent_dir / "subagents" / "processes"


def _idle_in(path: Path) -> IdleAgent | None:
    with _opened(path) as fd, suppress(OSError, JsonError):
        # A slot that somebody tries to take at this moment may not be locked by us: most have nothing to tell.
        if (said := os.pread(fd, _MAX_NOTE_BYTES, 0)) and is_locked(fd):
            return decode_json(said, IdleAgent)
    return None


def _is_held(path: Path) -> bool:
    with _opened(path) as fd, suppress(OSError):
        return is_locked(fd)
    return False


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """A descriptor to look at a file; -1 if there is none."""
    try:
        fd = os.open(path, _READ)
    except OSError:
        yield -1
        return
    try:
        yield fd
    finally:
        os.close(fd)
