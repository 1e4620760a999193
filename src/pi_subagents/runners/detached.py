"""Processes that outlive us: a session of their own, no terminal, and only the descriptors they are given."""

from __future__ import annotations

import subprocess
import sys

_started: list[subprocess.Popen[bytes]] = []
"""Those that end before we do stay behind as zombies until they are collected."""


def collect_ended() -> None:
    """Let go of those that have ended."""
    _started[:] = [process for process in _started if process.poll() is None]


def start_keeper(lease: int, order: int, slot: int) -> None:
    """Start a keeper that inherits a run's lease, its order, and its slot (-1 for none)."""
    _start("pi_subagents.background.keeper", [str(lease), str(order), str(slot)], (lease, order, slot))


def start_queue(listener: int, agent_dir: str, limit: int) -> None:
    """Start a queue that inherits the socket on which it listens."""
    _start("pi_subagents.background.queue", [str(listener), agent_dir, str(limit)], (listener,))


def _start(module: str, arguments: list[str], fds: tuple[int, ...]) -> None:
    collect_ended()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        pass_fds=[fd for fd in fds if fd >= 0],
    )
    _started.append(process)
