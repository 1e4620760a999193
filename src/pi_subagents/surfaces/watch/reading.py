"""The run that somebody reads: its state, its window and all entries of its conversation so far."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.export import Conversation, Entry
from pi_subagents.fold import RunState, fold
from pi_subagents.models.event import AnyEvent
from pi_subagents.progress import Window
from pi_subagents.runs.following import RunFollower


class Reading:
    """One run from its beginning on; `look` is for a thread, `take` for the program's own."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.state = RunState.of_run(run_dir.name)
        self.window = Window(self.state)
        self._follower = RunFollower(run_dir)
        self._conversation = Conversation()

    @property
    def is_over(self) -> bool:
        """Whether the run's end has been read."""
        return self._follower.ended

    @property
    def at_end(self) -> bool:
        """Whether everything that was there at the last look has been read."""
        return self._follower.ended or self._follower.at_end

    def look(self) -> list[AnyEvent]:
        """What is new in the journal; raises StoreError."""
        return self._follower.look()

    def take(self, events: list[AnyEvent]) -> list[Entry]:
        """The entries that the events complete."""
        entries: list[Entry] = []
        for event in events:
            fold(self.state, [event])
            self.window.apply(event)
            entries += self._conversation.take(event)
        return entries
