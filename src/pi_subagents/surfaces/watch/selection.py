"""Which runs of the roster are shown: by state, by words, by project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pi_subagents.progress import FATES, fate
from pi_subagents.runs.roster import WatchedRun
from pi_subagents.text import clean

_STATUSES = ("", *FATES)


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that a run has to meet, all of them; empty ones are met by every run."""

    status: str = ""
    text: str = ""
    project: Path | None = None

    @property
    def is_empty(self) -> bool:
        return self == Selection()

    def of(self, runs: Sequence[WatchedRun]) -> list[WatchedRun]:
        """The runs that are wanted, in their order."""
        words = self.text.casefold().split()
        return [run for run in runs if self._accepts(run) and all(word in run.searched for word in words)]

    def _accepts(self, run: WatchedRun) -> bool:
        return self.status in ("", fate(run.window.state.status)) and self.project in (None, run.project)

    def with_next_status(self) -> Selection:
        """All, running, completed, failed, aborted, and all again."""
        return replace(self, status=_STATUSES[(_STATUSES.index(self.status) + 1) % len(_STATUSES)])

    def with_project(self, project: Path | None) -> Selection:
        """Only that project; all again if it was only that one."""
        return replace(self, project=None if self.project is not None else project)

    def with_text(self, text: str) -> Selection:
        return replace(self, text=text)

    @property
    def description(self) -> str:
        """What the list is limited to, in words; nothing if it is not."""
        parts = [self.status, clean(self.project.name) if self.project else ""]
        text = " ".join(self.text.split())
        return " · ".join(part for part in (*parts, f'"{clean(text)}"' if text else "") if part)
