"""What providers have asked for: not to be bothered before a certain time. All runs of an agent directory know it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_MAX_HOLD_MS = 10 * 60 * 1000
"""Nobody is believed who asks for more."""


class Pace:
    """One small file for each provider; losing it costs nothing but politeness."""

    def __init__(self, agent_dir: Path) -> None:
        self._folder = agent_dir / "subagents" / "pace"

    def slow_down(self, provider: str, until: int, now: int) -> None:
        """Nobody shall start with this provider before `until` (ms)."""
        until = min(until, now + _MAX_HOLD_MS)
        if until <= self.resumes_at(provider, now):
            return
        path = self._path(provider)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.write_text(str(until))
            draft.replace(path)

    def resumes_at(self, provider: str, now: int) -> int:
        """From when on this provider may be asked again (ms); 0 if at any time."""
        with suppress(OSError, ValueError):
            until = int(self._path(provider).read_text())
            return until if now < until <= now + _MAX_HOLD_MS else 0
        return 0

    def _path(self, provider: str) -> Path:
        return self._folder / re.sub(r"[^A-Za-z0-9._-]", "_", provider)[:100]
