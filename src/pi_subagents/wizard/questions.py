"""How the wizard asks: every question can be skipped, left by Esc, or gone back from."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from pi_subagents.wizard.dialogs import Cancelled, Dialogs, Level

Answer = TypeVar("Answer")

BACK = "← Back"
YES, NO = "Yes", "No"
LEAVE, SKIP_STEP = "Leave: nothing is saved", "Skip this step"


class Back(Exception):  # noqa: N818 - the person's decision, not a fault
    """The person wants to see the question before this one again."""


class Skip(Exception):  # noqa: N818 - the person's decision, not a fault
    """The person wants to leave what this step is about as it is."""


class Questions:
    """The dialogs of a host, with the ways out of each question.

    Esc leaves at once while nothing has been answered; later one question stands before it.
    """

    def __init__(self, dialogs: Dialogs) -> None:
        self._dialogs = dialogs
        self._answered = 0
        self._can_skip = True
        self._is_first_step = True
        self.asked_in_step = 0

    def begin_step(self, *, is_first: bool, can_skip: bool) -> None:
        """What is asked from now on belongs to another step."""
        self.asked_in_step = 0
        self._is_first_step = is_first
        self._can_skip = can_skip

    async def select(self, title: str, options: Sequence[str], *, initial: str) -> str:
        """One of the options; Enter takes `initial`. Raises Back, Skip or Cancelled, as all questions do."""
        ways = [BACK] if self._can_go_back(asked=self.asked_in_step) else []
        choice = await self._ask(self._dialogs.select(title, [*options, *ways], initial=initial))
        if choice == BACK:
            raise Back
        return choice

    async def confirm(self, title: str, message: str) -> bool:
        """Yes or no; Enter says no."""
        return await self.select(f"{title}\n{message}", [NO, YES], initial=NO) == YES

    async def input(self, title: str, placeholder: str = "", *, initial: str = "") -> str:
        """A line of text; empty if there is nothing to say."""
        return await self._ask(self._dialogs.input(title, placeholder, initial=initial))

    async def editor(self, title: str, prefill: str = "") -> str:
        """A text of several lines."""
        return await self._ask(self._dialogs.editor(title, prefill))

    async def notify(self, message: str, level: Level = "info") -> None:
        """Tell the person something."""
        await self._dialogs.notify(message, level)

    async def _ask(self, dialog: Awaitable[Answer | None]) -> Answer:
        self.asked_in_step += 1
        answer = await dialog
        if answer is None:
            await self._go_elsewhere()
            raise Cancelled
        self._answered += 1
        return answer

    async def _go_elsewhere(self) -> None:
        if not self._answered:
            return
        ways = [LEAVE]
        ways += [SKIP_STEP] if self._can_skip else []
        ways += [BACK] if self._can_go_back(asked=self.asked_in_step - 1) else []
        choice = await self._dialogs.select("Leave without saving?", ways, initial=LEAVE)
        if choice == BACK:
            raise Back
        if choice == SKIP_STEP:
            raise Skip

    def _can_go_back(self, *, asked: int) -> bool:
        return bool(asked) or not self._is_first_step
