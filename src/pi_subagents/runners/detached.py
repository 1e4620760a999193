"""Processes that outlive us: a session of their own, no terminal, and only the descriptors they are given."""

from __future__ import annotations

import subprocess
import sys

_started: list[subprocess.Popen[bytes]] = []
"""Those that end before we do stay behind as zombies until they are collected."""


def collect_ended() -> None:
    """Let go of those that have ended."""
    _started[:] = [process for process in _started if process.poll() is None]


def start_detached(module: str, arguments: list[str], fds: tuple[int, ...]) -> None:
    """Start a module of ours as a program that inherits these descriptors (-1 for none)."""
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
