"""A pipe whose end tells a wrapper that the holder of its run is gone, however that happened."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress


class Lifeline:
    """Our end is open as long as we live and want the agent to live."""

    def __init__(self) -> None:
        self.child_end, self._our_end = os.pipe()
        os.set_inheritable(self.child_end, True)
        _open.add(self)

    def started(self) -> None:
        """The wrapper has its end now."""
        os.close(self.child_end)
        self.child_end = -1

    def send(self, command: bytes) -> None:
        """Say something to a wrapper that listens."""
        if self._our_end >= 0:
            with suppress(BrokenPipeError):  # the wrapper has ended, and with it everything below
                os.write(self._our_end, command)

    def close(self) -> None:
        """Harmless when called twice."""
        for fd in (self.child_end, self._our_end):
            if fd >= 0:
                os.close(fd)
        self.child_end = self._our_end = -1


_open: weakref.WeakSet[Lifeline] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A child forked without exec has our end too, and while it lives nobody would notice that we died.
    for lifeline in list(_open):
        lifeline.close()


os.register_at_fork(after_in_child=_forget_in_child)
