"""How the wizard asks: a host's dialogs, in which every question can be skipped, left by Esc, or gone back from."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

Answer = TypeVar("Answer")
Level = Literal["info", "warning", "error"]

CANCELLED = "Cancelled. Nothing was changed."
BACK = "← Back"
YES, NO = "Yes", "No"
LEAVE, SKIP_STEP = "Leave: nothing is saved", "Skip this step"
AGAIN = "Type it again"


class Cancelled(Exception):  # noqa: N818 - the person's decision, not a fault
    """The person left before the last question."""


class Back(Exception):  # noqa: N818 - the person's decision, not a fault
    """The person wants to see the question before this one again."""


class Skip(Exception):  # noqa: N818 - the person's decision, not a fault
    """The person wants to leave what this step is about as it is."""


class Dialogs(Protocol):
    """What a host must be able to ask a person; the names are those of pi's own dialogs.

    An answer of None is Esc. To end everything at once, a host raises Cancelled from any dialog; nothing has been
    written then, because only the last answer of a wizard writes. A host that cannot show what is to be chosen first,
    or how to answer by default, ignores it.
    """

    async def select(self, title: str, options: Sequence[str], *, initial: str | None = None) -> str | None:
        """One of the options; Enter takes `initial`, else the first."""
        ...

    async def confirm(self, title: str, message: str) -> bool:
        """Yes or no; Esc is no."""
        ...

    async def input(self, title: str, placeholder: str = "", *, initial: str = "", enter: str = "skips") -> str | None:
        """A line of text; `initial` stands in the field already and is the answer unless it is changed.

        `enter` is what Enter does in an empty field, for hosts that say so.

        pi's `input` begins empty whatever it is told: where there is an `initial`, its `editor` does what is meant.
        """
        ...

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """A text of several lines."""
        ...

    async def notify(self, message: str, level: Level = "info") -> None:
        """Tell the person something."""
        ...


class Questions:
    """The dialogs of a host, with the ways out of each question: all of them raise Back, Skip or Cancelled.

    Esc leaves at once while nothing has been answered; later one question stands before it.
    """

    def __init__(self, dialogs: Dialogs) -> None:
        self.notify = dialogs.notify
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
        """One of the options; Enter takes `initial`."""
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

    async def settle(self, title: str, doubtful: Mapping[str, str | None]) -> dict[str, str] | None:
        """What to write for each word that nobody knows here, most of which are misspelt; None: ask for them again.

        `doubtful` has what was probably meant by each.
        """
        keep = f"Keep {_quote(doubtful)}"
        meant = {word: better for word, better in doubtful.items() if better is not None}
        take = f"Use {_quote(meant.values())}"
        hint = f"Did you mean {_quote(meant.values())}?" if meant else "Use it anyway?"
        ways = [*([take] if meant else []), AGAIN, keep]
        choice = await self.select(f"{title}\nNot known here: {_quote(doubtful)}. {hint}", ways, initial=ways[0])
        if choice == AGAIN:
            return None
        return {word: meant.get(word, word) if choice == take else word for word in doubtful}

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


def _quote(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)
