"""What a frame shows at every size: pure, without a terminal."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.models import Usage
from pi_subagents.models import event as ev
from pi_subagents.progress import Window
from pi_subagents.surfaces.live.keys import Stop
from pi_subagents.surfaces.live.layout import Scene, about, closing_lines, compose, finished_lines, remaining_s
from pi_subagents.text import Style, cell_width, fit, plain
from tests.progress.windows_kit import COMPLETED, CREATED, FAILED, STARTED, assistant, call, window_of

LONG_NAME = "a name that somebody has made out of a whole prompt, with 日本語 and 👩‍👩‍👧 in it, " * 3


def window(number: int, *events: ev.Event, name: str = "", **fields: Any) -> Window:
    created = msgspec.structs.replace(CREATED, run_id=f"run-{number}", name=name or f"task {number}", **fields)
    return window_of(created, *events)


def running(number: int, lines: int = 20, **fields: Any) -> Window:
    said = [assistant(f"{number} says line {line}") for line in range(lines)]
    return window(number, STARTED, *said, **fields)


def finished(number: int, took_ms: int = 10_000) -> Window:
    return window(number, STARTED, msgspec.structs.replace(COMPLETED, at=STARTED.at + took_ms))


def scene(*windows: Window, columns: int = 80, rows: int = 24, **fields: Any) -> Scene:
    given_fields = {"now_ms": 12_000, "concurrency": 4, "total": len(windows), "selected": "run-0", **fields}
    return Scene(windows=windows, columns=columns, rows=rows, **given_fields)


def shown(stage: Scene) -> list[str]:
    return [plain(line) for line in compose(stage)]


def headers(lines: list[str]) -> list[str]:
    return [line for line in lines if " • " in line and "task" in line]


def test_windows_share_the_height_and_show_their_newest_lines() -> None:
    lines = shown(scene(*(running(number) for number in range(4))))
    assert len(headers(lines)) == 4
    for number in range(4):
        assert sum(f"{number} says" in line for line in lines) in (3, 4)
        assert any(f"{number} says line 19" in line for line in lines)
    assert lines[-2].startswith("Sub-agents: 4 running")
    assert len(lines) <= 24 - 4  # what was printed before stays in sight


def test_a_window_with_little_to_say_leaves_its_rows_to_the_others() -> None:
    lines = shown(scene(running(0, lines=1), running(1)))
    assert sum("1 says" in line for line in lines) >= 14


def test_a_long_line_goes_on_in_the_next_row_so_that_its_end_is_seen() -> None:
    lines = shown(scene(window(0, STARTED, assistant("word " * 30 + "the end."))))
    assert lines[3].strip() == "the end."


def test_the_expanded_window_gets_all_rows_and_the_others_keep_their_headers() -> None:
    lines = shown(scene(*(running(number, lines=60) for number in range(3)), expanded=True, selected="run-1"))
    assert len(lines) == 23
    assert len(headers(lines)) == 3
    assert sum("1 says" in line for line in lines) == 18
    assert not any("0 says" in line or "2 says" in line for line in lines)


def test_the_selected_window_is_marked_unless_it_is_the_only_one_or_nobody_can_press_keys() -> None:
    two = (running(0, 1), running(1, 1))
    assert [line[0] for line in shown(scene(*two, selected="run-1"))[:4]] == [" ", " ", "▌", "▌"]
    assert shown(scene(running(0, 1)))[0].startswith(" ")
    assert "▌" not in "".join(shown(scene(*two, has_keys=False)))


def test_more_windows_than_rows_show_the_selected_one_and_how_many_are_hidden() -> None:
    lines = shown(scene(*(running(number) for number in range(16)), rows=10, selected="run-12"))
    assert len(lines) <= 9
    assert any("task 12" in line for line in lines)
    hidden = next(line for line in lines if "more running" in line)
    assert f"and {16 - len(headers(lines))} more" in hidden


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_the_lowest_terminals_still_say_how_it_stands(rows: int) -> None:
    lines = shown(scene(running(0), running(1), rows=rows))
    assert len(lines) == max(1, rows - 1)
    assert lines[-1].startswith("Sub-agents: 2 running")
    asking = shown(scene(running(0), running(1), rows=rows, question=Stop()))
    assert asking[-1].startswith("Stop all")


def test_a_frame_still_fits_when_the_terminal_loses_a_quarter_of_its_width() -> None:
    words = assistant("word " * 200)
    lines = shown(scene(*(window(n, STARTED, words, words) for n in range(4)), columns=80, rows=24))
    assert sum(-(-cell_width(line) // 60) for line in lines) <= 23


names = st.one_of(st.just(LONG_NAME), st.text(max_size=60))


@given(
    columns=st.integers(1, 220),
    rows=st.integers(1, 70),
    tasks=st.lists(st.tuples(names, st.text(max_size=300), st.integers(0, 2)), max_size=20),
    extra=st.integers(0, 30),
    expanded=st.booleans(),
)
def test_no_frame_is_too_high_or_too_wide(
    columns: int, rows: int, tasks: list[tuple[str, str, int]], extra: int, expanded: bool
) -> None:
    ends: tuple[tuple[ev.Event, ...], ...] = ((), (COMPLETED,), (FAILED,))
    windows = [
        window(number, STARTED, assistant(text, call("1", "bash", command=text)), *ends[end], name=name)
        for number, (name, text, end) in enumerate(tasks)
    ]
    stage = scene(*windows, columns=columns, rows=rows, total=len(windows) + extra, expanded=expanded)
    lines = compose(stage)
    assert 1 <= len(lines) <= max(1, rows - 1)
    for line in lines:
        assert cell_width(plain(fit(line, columns - 1))) <= max(0, columns - 1)
        assert "\n" not in plain(line)
    for each in windows:
        assert all("\x1b" not in plain(line) for line in finished_lines(each, 0, columns))


def test_headers_and_summary_fit_by_leaving_things_out_not_by_being_cut() -> None:
    usage = assistant("Hi", provider="openai", model="gpt-5", usage=Usage(total_tokens=2100, cost=0.0021))
    for columns in (40, 60, 80, 100):
        lines = shown(scene(window(0, STARTED, usage, profile="scout"), columns=columns, total=16))
        assert not lines[0].endswith("…")
        assert "10s" in lines[0]
        assert "…" not in lines[-2]
        assert all(cell_width(line) < columns for line in (lines[0], lines[-2]))


def test_tasks_that_wait_are_counted() -> None:
    assert shown(scene(total=16))[-2].startswith("Sub-agents: 16 waiting")
    assert shown(scene(running(0), total=16))[-2].startswith("Sub-agents: 1 running, 15 waiting • ────────── 0/16")


def test_on_a_narrow_terminal_every_count_is_still_there() -> None:
    windows = [running(0), finished(1), window(2, STARTED, FAILED)]
    assert shown(scene(*windows, columns=40, total=16))[-2] == "1 running, 1 completed, 1 failed, 13 waiting"


def test_what_all_have_used_is_summed_up_where_there_is_more_than_one() -> None:
    said = assistant("Hi", usage=Usage(total_tokens=2100, cost=0.0021))
    one, two = (window(number, STARTED, said) for number in range(2))
    assert shown(scene(one, two))[-2] == "Sub-agents: 2 running • ────────── 0/2 • 4.2k tokens • $0.0042"
    assert shown(scene(one))[-2] == "Sub-agents: 1 running"


def test_there_is_an_estimate_once_several_are_completed() -> None:
    done = [finished(number, 30_000) for number in range(3)]
    two = scene(*done[:2], running(3), total=11)
    assert remaining_s(two) is None
    assert remaining_s(scene(*done[:2], window(2, STARTED, FAILED), running(3), total=11)) is None
    # Eight are left, one of which has run for 10 of about 30 seconds, four at a time.
    stage = scene(*done, running(3), total=11)
    assert remaining_s(stage) == pytest.approx((8 * 30 - 10) / 4)
    assert "• about 60 s left" in shown(stage)[-2]
    # Of four at a time the last two need only two.
    assert remaining_s(scene(*done, running(3), total=5)) == pytest.approx((2 * 30 - 10) / 2)
    assert remaining_s(scene(*done, total=3)) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3, "a few seconds left"), (42, "about 40 s left"), (200, "about 3 min left"), (9000, "about 2.5 h left")],
)
def test_an_estimate_claims_no_more_than_it_knows(seconds: float, words: str) -> None:
    assert about(seconds) == words


def test_while_everything_is_being_stopped_nothing_else_is_offered() -> None:
    stopped = window(0, STARTED, ev.StopRequested(reason="cancelled", message="Cancelled"))  # type: ignore[arg-type] # any reason will do
    lines = shown(scene(stopped))
    assert lines[-1] == "Stopping…"
    assert any("Stopping: Cancelled" in line for line in lines)


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"total": 3}, "↑↓ select • ctrl+o expand • s steer • x stop • q stop all"),
        ({"total": 1}, "ctrl+o expand • s steer • x stop"),
        ({"total": 3, "can_detach": True}, "↑↓ select • ctrl+o expand • s steer • x stop • d detach • q stop all"),
        ({"total": 3, "can_detach": True, "columns": 56}, "↑↓ • ^o expand • s steer • x stop • d detach • q all"),
        ({"total": 1, "can_detach": True}, "ctrl+o expand • s steer • x stop • d detach"),
        ({"has_keys": False}, "ctrl+c stops all"),
        ({"can_leave": True}, "ctrl+o expand • s steer • x stop • q leave it running"),
        ({"can_leave": True, "has_keys": False}, "ctrl+c leaves it running"),
        ({"total": 3, "expanded": True}, "↑↓ select • ctrl+o collapse • s steer • x stop • q stop all"),
        ({"total": 3, "expanded": True, "can_detach": True, "columns": 38}, "^o less • x stop • d detach • q all"),
        ({"question": Stop()}, "Stop all sub-agents? y yes • any other key no"),
        ({"total": 3, "columns": 40}, "↑↓ • ^o expand • x stop • q all"),
        ({"question": Stop(), "columns": 40}, "Stop all? y yes • other keys no"),
        ({"question": Stop("run-0")}, "Stop task 0? y yes • any other key no"),
        ({"question": Stop("run-0"), "columns": 40}, "Stop task 0? y yes • any other key no"),
        ({"question": Stop("run-0"), "columns": 35}, "Stop task 0? y yes • other keys no"),
    ],
)
def test_the_hint_says_what_can_be_done(fields: dict[str, Any], hint: str) -> None:
    assert shown(scene(running(0), **fields))[-1] == hint


def test_a_long_name_is_cut_in_the_question_and_not_the_answers() -> None:
    asking = scene(running(0, name=LONG_NAME), question=Stop("run-0"), columns=60)
    assert shown(asking)[-1].startswith("Stop a name that")
    assert shown(asking)[-1].endswith("…? y yes • other keys no")
    assert cell_width(shown(asking)[-1]) <= 59


def test_what_stays_in_history() -> None:
    assert [plain(line) for line in finished_lines(finished(1), 0, 80)] == [" ✓ task 1 • 0 tools • 10s/600s"]
    header, error = finished_lines(window(2, STARTED, FAILED), 0, 80)
    assert plain(header).startswith(" ✗ task 2")
    assert error == [(Style.ERROR, "   Timed out after 7s.")]


def test_a_window_stays_in_its_column_when_it_ends() -> None:
    header, *_ = shown(scene(running(1)))
    (kept,) = finished_lines(finished(1), 0, 80)
    assert header.index("task 1") == plain(kept).index("task 1")


def test_the_end_says_how_many_ended_how() -> None:
    windows = (finished(0), window(1, STARTED, FAILED))
    (line,) = closing_lines(scene(*windows))
    assert plain(line) == "Sub-agents: 1 completed, 1 failed • 10.0s"
    assert closing_lines(scene()) == []
