"""The machine's slots for agent processes, without a machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pi_subagents.models.idle_agent import IdleAgent


class FakeSlots:
    """A number of slots. Somebody else may want those in `wants`, and `requests` counts how often we asked for one."""

    def __init__(self, count: int) -> None:
        self.slots = [FakeSlot(number) for number in range(count)]
        self.wants = range(0)
        self.requests = 0

    @property
    def free(self) -> int:
        return sum(not slot.is_taken for slot in self.slots)

    def take(self) -> FakeSlot | None:
        for slot in self.slots:
            if not slot.is_taken:
                slot.is_taken = True
                return slot
        return None

    def wanted(self) -> range:
        return self.wants

    @contextmanager
    def request(self) -> Iterator[FakeSlots]:
        yield self

    def repeat(self) -> None:
        self.requests += 1


@dataclass
class FakeSlot:
    """One of them, and what was last told of it."""

    number: int
    is_taken: bool = False
    idle: IdleAgent | None = None

    def tell_idle(self, agent: IdleAgent | None) -> None:
        self.idle = agent

    def release(self) -> None:
        assert self.is_taken
        self.is_taken, self.idle = False, None
