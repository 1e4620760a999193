"""Updates as they are sent: whatever happens in a window, they add up to what it shows."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.models import event as ev
from pi_subagents.surfaces.bridge.views import WindowPatches, windows_details
from tests.bridge.patching import fold_patches
from tests.progress.windows_kit import CREATED, STARTED, assistant, call, feed, result, window_of

CALLS = st.sampled_from("abcdef")
TOOLS = st.sampled_from(("bash", "ls"))
EVENTS = st.one_of(
    st.builds(assistant, st.sampled_from(("Again.", "One\n" * 90))),
    st.builds(lambda call_id, tool: assistant(call(call_id, tool)), CALLS, TOOLS),
    st.builds(lambda call_id, tool, rows: result(call_id, tool, "row\n" * rows), CALLS, TOOLS, st.integers(0, 30)),
)


def shown(details: dict[str, Any]) -> list[list[tuple[Any, ...]]]:
    return [[(line["text"], line.get("output")) for line in window["allMessages"]] for window in details["windows"]]


@given(st.lists(st.lists(EVENTS, min_size=1, max_size=8), max_size=40))
def test_updates_add_up_whatever_happens(batches: list[list[ev.Event]]) -> None:
    window, patches = window_of(CREATED, STARTED), WindowPatches()
    told = [patches.news([window])]
    for batch in batches:
        for event in batch:
            feed(window, event)
        told.append(patches.news([window]))
        assert shown(fold_patches(told)) == shown(windows_details([window]))


def test_a_first_line_that_gets_an_output_is_not_told_twice() -> None:
    window, patches = window_of(CREATED, STARTED, assistant(call("1", "bash", command="make"))), WindowPatches()
    told = [patches.news([window])]
    feed(window, result("1", "bash", "made"))
    told.append(patches.news([window]))
    assert shown(fold_patches(told)) == [[("→ bash → make", ["made"])]]


def test_updates_add_up_over_thousands_of_lines_and_outputs_that_are_forgotten() -> None:
    window, patches = window_of(CREATED, STARTED), WindowPatches()
    told: dict[str, Any] = {}
    for number in range(700):
        feed(window, assistant(call(str(number), "bash", command="make"), call(f"ls {number}", "ls")))
        feed(window, result(str(number), "bash", "row\n" * (number % 30)))
        feed(window, result(f"ls {number}", "ls", "a\nb"))
        if number % 3 == 0:
            told = fold_patches([{"set": told}, patches.news([window])])
            assert shown(told) == shown(windows_details([window]))
