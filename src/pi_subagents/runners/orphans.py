"""What is left of an agent whose guard was killed: it becomes a child of ours, and we end it.

While guards are at work, this process is a sub-reaper as they are: whatever loses its guard comes to us. The program
that we are part of has children of its own, so an agent bears a mark that everything below it inherits, and that no
other environment, session or program takes off: its limit for a resource that hardly anybody uses, processor time in
real-time scheduling, is a number from a range of ours, too high to limit anything. Only who bears the mark is ever
waited for or killed. An agent stays below its guard while that lives, so a marked child has lost its guard.
"""

from __future__ import annotations

import os
import resource
import threading
from contextlib import suppress

from pi_subagents.runners.guard import SET_CHILD_SUBREAPER, children_of, end_tree, prctl

_FIRST_MARK = 0x7069_5355 << 31
_MARKS = range(_FIRST_MARK, _FIRST_MARK + (1 << 31))
_UNLIMITED = 1 << 63
_GET_CHILD_SUBREAPER = 37


def new_mark() -> int:
    """A mark for one agent; 0 where there can be none. Below our own, because a limit can only be lowered."""
    highest = min(_own_limit(), _MARKS.stop)
    if highest <= _MARKS.start:
        return 0
    return _MARKS.start + int.from_bytes(os.urandom(8)) % (highest - _MARKS.start)


def sweep() -> list[int]:
    """Look once for marked children, end them with everything below them, and collect the dead; returns all found."""
    found = [pid for pid in children_of(os.getpid()) if _is_marked(pid)]
    for pid in found:
        end_tree(pid)
    for pid in found:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return found


def _is_marked(pid: int) -> bool:
    limit = _limit_of(pid)
    # We may be below an agent ourselves: what is not below one of ours bears the same mark as we do.
    return limit in _MARKS and limit < _own_limit()


def _limit_of(pid: int) -> int:
    try:
        limit = resource.prlimit(pid, resource.RLIMIT_RTTIME)[1]
    except OSError:  # gone by now, or another user's
        return _UNLIMITED
    return _UNLIMITED if limit == resource.RLIM_INFINITY else limit


def _own_limit() -> int:
    return _limit_of(os.getpid())


class Adoption:
    """As long as there is one that has not ended, this process is a sub-reaper; afterwards it is what it was before."""

    _lock = threading.Lock()
    _count = 0
    _was_before = False

    def __init__(self) -> None:
        self._is_over = False
        with Adoption._lock:
            if Adoption._count == 0:
                Adoption._was_before = is_subreaper()
                prctl(SET_CHILD_SUBREAPER, 1)
            Adoption._count += 1

    def end(self) -> None:
        """Harmless when called twice."""
        with Adoption._lock:
            if self._is_over or Adoption._count == 0:
                return
            self._is_over = True
            Adoption._count -= 1
            if Adoption._count == 0:
                prctl(SET_CHILD_SUBREAPER, int(Adoption._was_before))

    @classmethod
    def forget(cls) -> None:
        """A forked copy of this process has no agents and is no sub-reaper."""
        cls._lock = threading.Lock()
        cls._count = 0


def is_subreaper() -> bool:
    """Whether orphans below this process come to it."""
    import ctypes  # loaded when the first agent starts, not with the program

    answer = ctypes.c_int(0)
    prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer))
    return bool(answer.value)


os.register_at_fork(after_in_child=Adoption.forget)
