"""A dialog that acts on what was typed."""

from __future__ import annotations

import asyncio

from textual.widgets import TextArea

from pi_subagents.errors import InvalidCall
from pi_subagents.surfaces.watch.dialogs import PromptArea, PromptDialog
from tests.surfaces.watch.kit import Bench, Eyes, watching


class Deed:
    """What a dialog does, as slowly as the test wants."""

    def __init__(self, *problems: Exception) -> None:
        self.done: list[str] = []
        self.may_go_on = asyncio.Event()
        self._problems = list(problems)

    async def __call__(self, text: str) -> None:
        self.done.append(text)
        await self.may_go_on.wait()
        if self._problems:
            raise self._problems.pop()


async def open_dialog(eyes: Eyes, deed: Deed, text: str) -> None:
    eyes.app.push_screen(PromptDialog("What now?", "do it", deed))
    await eyes.until(lambda: isinstance(eyes.app.focused, PromptArea), "it has the keys")
    await eyes.press(*text)


async def test_return_pressed_twice_acts_once_and_after_a_problem_the_words_can_be_sent_again(
    bench: Bench,
) -> None:
    deed = Deed(InvalidCall("It is too early.", advice="Wait a little"))
    async with watching(bench) as eyes:
        await open_dialog(eyes, deed, "go")
        await eyes.press("enter", "enter")
        deed.may_go_on.set()
        await eyes.until_seen("It is too early.", "Wait a little")
        assert eyes.app.screen.query_one(TextArea).text == "go"
        assert deed.done == ["go"]
        await eyes.press("enter")
        await eyes.until_closed(PromptDialog)
    assert deed.done == ["go", "go"]


async def test_a_problem_with_what_was_sent_is_told_though_the_dialog_was_left(bench: Bench) -> None:
    async with watching(bench) as eyes:
        for problem in (InvalidCall("It was refused."), OSError("It was broken.")):
            deed = Deed(problem)
            await open_dialog(eyes, deed, "go")
            await eyes.press("enter", "escape")
            deed.may_go_on.set()
            await eyes.until_noticed(str(problem))
