"""Header, body, footer and status as people read them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.fold import RunState
from pi_subagents.models import Reason, Status, Usage
from pi_subagents.models import event as ev
from pi_subagents.progress import (
    Window,
    body_rows,
    body_segments,
    excerpt_segments,
    footer_segments,
    header_parts,
    header_segments,
    status_line,
    status_segments,
    tool_status_segments,
    usage_parts,
)
from pi_subagents.text import Style, cell_width, plain
from tests.progress.windows_kit import COMPLETED, CREATED, FAILED, STARTED, assistant, call, result, window_of


def created(**fields: Any) -> ev.Created:
    return msgspec.structs.replace(CREATED, **fields)


def header(*events: ev.Event, now_ms: int = 14_500) -> str:
    return plain(header_segments(window_of(*events), now_ms))


def body(window: Window, expanded: bool = False) -> list[str]:
    return [plain(line) for line in body_segments(window, expanded)]


def test_a_full_header() -> None:
    full = created(profile="scout", provider="openai", model="gpt-5", thinking_level="high")
    todos = call("1", "write_todos", todos=["a", "b", "c"])
    done = call("2", "edit_todos", action="complete", indices=[0])
    assert header(full, STARTED, assistant(todos, done)) == (
        "⏳ build • scout (openai/gpt-5 high) • 2 tools • [1/3] • 12s/600s"
    )


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "⏳ build • 0 tools • 12s/600s"),
        ({"profile": "scout"}, "⏳ build • scout • 0 tools • 12s/600s"),
        ({"model": "gpt-5"}, "⏳ build • (gpt-5) • 0 tools • 12s/600s"),
        (
            {"profile": "scout", "provider": "openai"},
            "⏳ build • scout (openai) • 0 tools • 12s/600s",
        ),
        ({"profile": "s", "thinking_level": "low"}, "⏳ build • s (low) • 0 tools • 12s/600s"),
        ({"timeout_s": None}, "⏳ build • 0 tools • 12s"),
        ({"timeout_s": 1.5}, "⏳ build • 0 tools • 12s/1.5s"),
        ({"timeout_s": 3_600_000.0}, "⏳ build • 0 tools • 12s/3600000s"),
        ({"name": "a\x1b[2J\nb"}, "⏳ a b • 0 tools • 12s/600s"),
        ({"name": ""}, "⏳ (unnamed) • 0 tools • 12s/600s"),
        (
            {"profile": "p\x1b[2J", "provider": "q\x9b", "model": "m\n", "thinking_level": "t\x07"},
            "⏳ build • p (q/m t) • 0 tools • 12s/600s",
        ),
    ],
)
def test_a_header_leaves_out_what_is_not_known(fields: dict[str, Any], line: str) -> None:
    assert header(created(**fields), STARTED) == line


def test_one_tool_is_one_tool() -> None:
    assert "• 1 tool •" in header(CREATED, STARTED, assistant(call("1", "ls")))


def test_finished_todos_are_no_longer_shown() -> None:
    todos = call("1", "write_todos", todos=["a"])
    done = call("2", "edit_todos", action="abandon", indices=[0])
    assert "[0/1]" in header(CREATED, STARTED, assistant(todos))
    assert "[" not in header(CREATED, STARTED, assistant(todos, done))


@pytest.mark.parametrize(
    ("events", "icon", "style"),
    [
        ((CREATED, STARTED), "⏳", Style.WARNING),
        ((CREATED, STARTED, COMPLETED), "✓", Style.SUCCESS),
        ((CREATED, STARTED, FAILED), "✗", Style.ERROR),
    ],
)
def test_the_icon_tells_the_state(events: tuple[ev.Event, ...], icon: str, style: Style) -> None:
    line = header_segments(window_of(*events), 0)
    assert line[0] == (style, icon)
    assert (Style.BOLD, "build") in line


def test_a_surface_can_bring_its_spinner() -> None:
    assert plain(header_segments(window_of(CREATED), 0, icon="⠋")).startswith("⠋ build")


def test_elapsed_time_freezes_in_the_header() -> None:
    assert header(CREATED, STARTED, COMPLETED, now_ms=10**9).endswith(" • 12s/600s")


def test_an_empty_window_says_so() -> None:
    assert body(window_of(CREATED, STARTED)) == ["(starting...)"]
    assert body(window_of(CREATED, STARTED), expanded=True) == ["(no output)"]


def test_a_run_that_ended_without_a_word_is_not_starting() -> None:
    assert body(window_of(CREATED, STARTED, COMPLETED)) == ["(no output)"]


def test_collapsed_shows_the_last_lines_and_expanded_all() -> None:
    window = window_of(assistant("1\n2\n3\n4", call("1", "ls")), max_lines=2)
    assert body(window) == ["4", "→ ls → ."]
    assert body(window, expanded=True) == ["1", "2", "3", "4", "→ ls → ."]


def test_what_is_being_written_takes_its_place_among_the_last_lines() -> None:
    window = window_of(assistant("1\n2\n3"), ev.Delta(kind="text", text="4\n5"), max_lines=3)
    assert body(window) == ["3", "4", "5"]
    assert body(window, expanded=True) == ["1", "2", "3", "4", "5"]
    window = window_of(assistant("1"), ev.Delta(kind="text", text="2\n3"), max_lines=0)
    assert body(window) == ["3"]


def test_tool_lines_are_muted_and_text_is_not() -> None:
    window = window_of(assistant("Hi", call("1", "ls")))
    assert body_segments(window) == [[(Style.TEXT, "Hi")], [(Style.MUTED, "→ ls → .")]]


def test_an_error_stands_below_the_output_in_red() -> None:
    window = window_of(CREATED, STARTED, assistant("Hi"), FAILED, max_lines=1)
    assert body_segments(window) == [[(Style.TEXT, "Hi")], [(Style.ERROR, "Timed out after 7s.")]]
    ugly = ev.Ended(status=Status.FAILED, reason=Reason.EXIT, message="one\x1b[2J\n\ntwo")
    assert body(window_of(CREATED, STARTED, ugly)) == ["(no output)", "one", "two"]


def test_only_a_run_that_failed_has_an_error() -> None:
    settled = ev.Ended(status=Status.COMPLETED, reason=Reason.SETTLED, message="had to be stopped")
    assert body(window_of(CREATED, STARTED, assistant("Hi"), settled)) == ["Hi"]
    silent = ev.Ended(status=Status.FAILED, reason=Reason.EXIT)
    assert body(window_of(CREATED, STARTED, assistant("Hi"), silent)) == ["Hi"]


def test_an_error_that_is_being_retried_is_not_the_runs() -> None:
    window = window_of(CREATED, STARTED, assistant("Hi", stop_reason="error", error_message="overloaded"))
    assert body(window) == ["Hi"]


def test_the_status_of_all() -> None:
    running, done = window_of(CREATED), window_of(CREATED, STARTED, COMPLETED)
    failed = window_of(CREATED, STARTED, FAILED)
    aborted = window_of(CREATED, STARTED, msgspec.structs.replace(FAILED, status=Status.ABORTED))
    strange = window_of(CREATED, STARTED, msgspec.structs.replace(FAILED, status=Status("paused")))
    assert status_line([done, running, failed, running]) == "Sub-agents: 2 running, 1 completed, 1 failed"
    assert status_line([strange, aborted, failed, done]) == "Sub-agents: 1 completed, 1 failed, 1 aborted, 1 paused"
    assert status_line([]) == "Sub-agents: none"
    assert (Style.ERROR, "1 failed") in status_segments([failed, done])


def test_above_the_windows_of_a_tool_the_status_has_the_words_of_its_reference() -> None:
    running, done = window_of(CREATED), window_of(CREATED, STARTED, COMPLETED)
    failed = window_of(CREATED, STARTED, FAILED)
    everything = [done, running, failed, running]
    assert plain(tool_status_segments(everything)) == "Sub-agents: 2 running, 1 done, 1 error"
    assert plain(tool_status_segments([failed, failed])) == "Sub-agents: 2 errors"


def test_session_ids_are_given_once_all_have_ended() -> None:
    running, done = window_of(CREATED), window_of(created(name="a", session_id="1"), STARTED, COMPLETED)
    failed = window_of(created(name="b\n", session_id="2"), STARTED, FAILED)
    unnamed = window_of(created(name=" "), STARTED, COMPLETED)
    assert footer_segments([running, done]) == []
    assert footer_segments([]) == []
    assert plain(footer_segments([done, failed])) == "Sessions: a 1 • b 2"
    assert (Style.ACCENT, "2") in footer_segments([done, failed])
    assert plain(footer_segments([unnamed])) == "Sessions: (unnamed) a3f7b9c2d1e8f4a1"


def rows(window: Window, width: int, most: int, now_ms: int = 0, **options: bool) -> list[str]:
    return [plain(line) for line in body_rows(window, width, most, now_ms, **options)]


def test_on_a_screen_text_goes_on_in_the_next_row_and_a_tools_line_is_cut() -> None:
    window = window_of(CREATED, STARTED, assistant("one two three four", call("1", "read", path="a/long/path.txt")))
    assert rows(window, 10, 9) == ["one two", "three four", "→ read → …"]
    assert rows(window, 10, 2) == ["three four", "→ read → …"]
    assert rows(window, 10, 0) == []


def test_on_a_screen_the_end_of_what_is_being_written_is_shown() -> None:
    window = window_of(CREATED, STARTED, ev.Delta(kind="text", text="word " * 1000 + "the end"))
    assert rows(window, 20, 2)[-1].endswith("end")
    assert len(rows(window, 20, 50)) == 15
    assert len(rows(window, 20, 50, expanded=True)) == 50


def test_on_a_screen_a_window_without_lines_says_so() -> None:
    assert rows(window_of(CREATED, STARTED), 20, 5) == ["(starting...)"]
    assert rows(window_of(CREATED, STARTED, FAILED), 30, 5) == ["(no output)", "Timed out after 7s."]


def test_a_tool_that_runs_for_a_while_says_for_how_long_until_it_has_ended() -> None:
    window = window_of(
        CREATED, STARTED, ev.ToolStarted(at=5000, id="1", name="bash", arguments={"command": "npm test"})
    )
    assert rows(window, 40, 5, 7900) == ["→ bash → npm test"]
    assert rows(window, 40, 5, 17_000) == ["→ bash → npm test (12s)"]
    assert rows(window, 40, 5, 77_000) == ["→ bash → npm test (1m 12s)"]
    assert rows(window, 18, 5, 17_000) == ["→ bash → np… (12s)"]
    window.apply(ev.ToolEnded(at=18_000, id="1", name="bash"))
    assert rows(window, 40, 5, 19_000) == ["→ bash → npm test"]


def test_of_tools_that_run_at_once_each_has_its_own_clock() -> None:
    calls = [ev.ToolStarted(at=1000 * at, id=str(at), name="read", arguments={"path": f"{at}.txt"}) for at in (1, 5)]
    window = window_of(CREATED, STARTED, *calls)
    assert rows(window, 40, 5, 10_000) == ["→ read → 1.txt (9s)", "→ read → 5.txt (5s)"]
    window.apply(result("1", "read", "what it says"))
    assert rows(window, 40, 5, 10_000) == ["→ read → 1.txt", "→ read → 5.txt (5s)"]


def test_a_run_that_has_ended_has_no_clock_that_goes_on() -> None:
    window = window_of(CREATED, STARTED, ev.ToolStarted(at=5000, id="1", name="bash"), FAILED)
    assert rows(window, 40, 5, 60_000)[0] == "→ bash"


def test_expanded_every_call_is_followed_by_what_it_returned_and_collapsed_it_is_not() -> None:
    asked = assistant("Look.", call("1", "bash", command="make"), call("2", "ls"))
    window = window_of(
        CREATED,
        STARTED,
        asked,
        result("2", "ls", "a\nb/"),
        result("1", "bash", "\x1b[31mcc -c a.c\r\n\terror\n", is_error=True),
    )
    collapsed = ["Look.", "→ bash → make", "→ ls → .", "  1 file, 1 dir"]
    assert rows(window, 40, 20) == collapsed
    assert rows(window, 40, 20, expanded=True) == [
        *("Look.", "→ bash → make", "  cc -c a.c", "      error"),
        *("→ ls → .", "  1 file, 1 dir", "  a", "  b/"),
    ]
    assert [line.text for line in window.all_messages] == collapsed


def test_what_a_tool_returns_a_second_time_stands_below_the_first() -> None:
    asked = assistant(call("1", "bash", command="make"), call("2", "ls"))
    window = window_of(CREATED, STARTED, asked, result("1", "bash", "first"), result("1", "bash", "second"))
    assert rows(window, 40, 20, expanded=True) == ["→ bash → make", "  first", "  second", "→ ls → ."]


def test_of_many_outputs_the_newest_are_kept_and_every_call_stays() -> None:
    window = window_of(CREATED, STARTED)
    for number in range(90):
        window.apply(assistant("", call(str(number), "bash", command=f"make {number}")))
        window.apply(result(str(number), "bash", "\n".join(f"{number}: {line}" for line in range(20))))
        assert window.lines[-1].output[-1] == f"{number}: 19"
        assert sum(len(line.output) for line in window.all_messages) <= 500
    outputs = [line.output for line in window.all_messages]
    assert (len(outputs), outputs[0]) == (90, ())
    assert all(outputs[-12:])


def test_of_a_long_output_the_beginning_and_the_end_are_shown() -> None:
    text = "\n".join(f"line {number}" for number in range(1000))
    window = window_of(CREATED, STARTED, assistant(call("1", "bash", command="seq")), result("1", "bash", text))
    shown = rows(window, 40, 100, expanded=True)
    assert shown[:3] == ["→ bash → seq", "  line 0", "  line 1"]
    assert shown[8:11] == ["  line 7", "  ... (980 more lines)", "  line 988"]
    assert shown[-1] == "  line 999"
    assert len(shown) == 22


def test_a_line_is_not_left_out_to_say_that_one_is_missing() -> None:
    text = "\n".join(f"line {number}" for number in range(21))
    window = window_of(CREATED, STARTED, assistant(call("1", "bash", command="seq")), result("1", "bash", text))
    assert rows(window, 40, 100, expanded=True)[1:] == [f"  line {number}" for number in range(21)]


USAGE = Usage(total_tokens=2100, cost=0.0021)


def window(name: str = "build") -> Window:
    created = msgspec.structs.replace(CREATED, name=name, profile="scout", provider="openai", model="gpt-5")
    return window_of(created, STARTED, assistant("Hi", usage=USAGE))


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (None, "⏳ build • scout (openai/gpt-5) • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (77, "⏳ build • scout (openai/gpt-5) • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (70, "⏳ build • scout • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (58, "⏳ build • 0 tools • 12s/600s • 2.1k tokens • $0.0021"),
        (45, "⏳ build • 0 tools • 12s/600s • $0.0021"),
        (30, "⏳ build • 0 tools • 12s/600s"),
        (20, "⏳ build • 12s/600s"),
        (15, "⏳ build • 12s"),
        (13, "⏳ bui… • 12s"),
    ],
)
def test_what_goes_first(width: int | None, line: str) -> None:
    assert plain(header_segments(window(), 14_500, figures=True, width=width)) == line


@pytest.mark.parametrize("width", [60, 90, 120])
def test_a_long_name_is_cut_only_where_the_line_is_full(width: int) -> None:
    line = plain(header_segments(window("name " * 40), 14_500, width=width))
    assert cell_width(line) == width
    assert "… • " in line
    assert line.endswith("12s/600s")


def test_a_name_gets_the_room_that_the_others_leave() -> None:
    name = "Summarise the README and say what a newcomer misses"
    line = plain(header_segments(window(name), 14_500, width=84))
    assert line == f"⏳ {name} • scout • 0 tools • 12s/600s"


def test_a_name_takes_half_of_the_line_before_the_agent_stays() -> None:
    name = "Summarise the README and say what a newcomer misses"
    line = plain(header_segments(window(name), 14_500, width=50))
    assert line == "⏳ Summarise the README and … • 0 tools • 12s/600s"


@given(name=st.text(max_size=80), width=st.integers(0, 120))
def test_no_header_is_too_wide(name: str, width: int) -> None:
    assert cell_width(plain(header_segments(window(name), 14_500, figures=True, width=width))) <= width


def text_of(lines: int) -> str:
    return "\n".join(f"line {number}" for number in range(lines))


@pytest.mark.parametrize(
    ("lines", "most", "last"),
    [
        (62, 15, "... (47 more lines)"),
        (16, 15, "... (1 more line)"),
        (15, 15, "line 14"),
        (1, 15, "line 0"),
        (2, 0, "... (2 more lines)"),
    ],
)
def test_a_result_is_cut_for_people_with_the_number_of_lines_that_are_missing(lines: int, most: int, last: str) -> None:
    shown = excerpt_segments(text_of(lines), most)
    assert plain(shown[-1]) == last
    assert [plain(line) for line in shown[:most]] == text_of(lines).split("\n")[:most]


def test_a_result_cannot_move_the_cursor() -> None:
    assert excerpt_segments("a\x1b[2Jb\r\nc", 5) == [[(Style.TEXT, "ab")], [(Style.TEXT, "c")]]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"model": "opus-4.8", "thinking_level": "high"}, "⏳ build • claude (opus-4.8 high) • 0 tools • 12s/600s"),
        ({}, "⏳ build • claude • 0 tools • 12s/600s"),
        ({"profile": "scout", "model": "opus"}, "⏳ build • scout • claude (opus) • 0 tools • 12s/600s"),
        ({"profile": "claude", "model": "opus"}, "⏳ build • claude (opus) • 0 tools • 12s/600s"),
        ({"name": "claude", "model": "opus"}, "⏳ claude (opus) • 0 tools • 12s/600s"),
    ],
)
def test_an_agent_other_than_pi_stands_before_its_model(fields: dict[str, Any], line: str) -> None:
    assert header(created(harness="claude", **fields), STARTED) == line


@pytest.mark.parametrize(("mode", "word"), [("native", "resumed"), ("retell", "retold")])
def test_a_run_that_resumes_a_session_says_how(mode: str, word: str) -> None:
    assert header(created(resume_mode=mode), STARTED) == f"⏳ build • {word} • 0 tools • 12s/600s"
    other = created(resume_mode=mode, harness="claude")
    assert header(other, STARTED) == f"⏳ build • claude • {word} • 0 tools • 12s/600s"
    windows = [window_of(created(resume_mode=mode), STARTED), window_of(other, STARTED)]
    in_pi = ["".join(plain(line) for line, _ in header_parts(window, 14_500)) for window in windows]
    # The reference of the tools has the header for pi word by word.
    assert in_pi == ["⏳ build • 0 tools • 12s/600s", f"⏳ build • claude • {word} • 0 tools • 12s/600s"]


def test_figures_of_an_agent_tell_its_context_and_that_its_cost_is_unknown_once_that_is_sure() -> None:
    codex = created(harness="codex")
    spent = assistant(usage=Usage(total_tokens=2100))
    total = ev.UsageTotal(usage=Usage(total_tokens=2100), context_used=12_300, context_size=200_000, has_cost=False)

    def figures(*events: ev.Event) -> str:
        return plain(header_segments(window_of(codex, STARTED, *events), 14_500, figures=True)).partition("/600s")[2]

    assert figures(spent) == " • 2.1k tokens"
    assert figures(spent, FAILED) == " • 2.1k tokens • cost unknown"
    assert figures(total) == " • 2.1k tokens • context 12k/200k • cost unknown"
    known = msgspec.structs.replace(total, usage=Usage(total_tokens=2100, cost=0.25), has_cost=True)
    assert figures(known) == " • 2.1k tokens • context 12k/200k • $0.2500"


def test_in_a_narrow_line_the_context_goes_before_the_model() -> None:
    total = ev.UsageTotal(usage=Usage(total_tokens=2100, cost=0.25), context_used=12_300, context_size=200_000)
    window = window_of(created(harness="claude", model="opus"), STARTED, total)
    whole = plain(header_segments(window, 14_500, figures=True))
    narrow = plain(header_segments(window, 14_500, figures=True, width=len(whole) - 1))
    assert "context 12k/200k" in whole
    assert "context" not in narrow
    assert "claude (opus)" in narrow


def test_the_totals_of_several_runs_say_where_a_cost_is_not_all_of_it() -> None:
    def run(harness: str, cost: float) -> RunState:
        usage = Usage(total_tokens=1000, cost=cost)
        return window_of(created(harness=harness), STARTED, assistant(usage=usage), COMPLETED).state

    def words(*states: RunState) -> list[str]:
        return [plain(part) for part in usage_parts(states)]

    assert words(run("pi-rpc", 0.5), run("claude", 0.25)) == ["2.0k tokens", "$0.7500"]
    assert words(run("pi-rpc", 0.5), run("codex", 0)) == ["2.0k tokens", "$0.5000+"]
    assert words(run("codex", 0)) == ["1.0k tokens", "cost unknown"]
