"""Of a conversation that is very long the latest part is held, and how much there was before is said."""

from __future__ import annotations

import pytest

from pi_subagents.export import Called, Noticed, Returned, Said
from pi_subagents.surfaces.watch import blocks as module
from pi_subagents.surfaces.watch.blocks import MAX_BYTES, Items
from tests.kit.sessions import says
from tests.surfaces.watch.kit import Bench, watching


def test_the_oldest_go_when_there_is_too_much_and_results_count_with_their_calls() -> None:
    items = Items()
    call = Called("1", "bash", "bash", {"command": "ls"})
    items.take([call, Returned("bash", "r" * MAX_BYTES, call), *[Said("x")] * 10])
    assert items.forget(most=5) == 1
    assert (len(items.held), items.forgotten) == (10, 1)
    items.take([Said("y" * MAX_BYTES)])
    assert items.forget(most=3) == 3
    assert (len(items.held), items.forgotten) == (8, 4)


def test_many_small_items_are_too_many_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ITEMS", 100)
    items = Items()
    items.take([Noticed(str(number)) for number in range(250)])
    assert items.forget(most=250) == 150
    assert items.held[0].entry == Noticed("150")


async def test_a_long_conversation_opens_at_its_end_and_says_what_is_not_held(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ITEMS", 120)
    bench.tea.add(*(says(f"word {number}") for number in range(300)))
    async with watching(bench) as eyes:
        await eyes.until_told("word 299")
        await eyes.until(
            lambda: "180 before that are in the exported page only" in str(eyes.app.query_one("#earlier").render())
        )
