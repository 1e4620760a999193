"""A session as Markdown: complete, and no piece of it can swallow another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pi_subagents.export.facts import moment
from pi_subagents.export.markdown import code_span, contained, fenced, inline
from pi_subagents.models import Status
from tests.export.kit import markdown_of
from tests.kit.sessions import call, returns, run_of, says, was_told


def test_a_session_begins_with_what_is_known_of_it() -> None:
    text = markdown_of(run_of(says("Fine."), profile="reviewer"))
    assert text.startswith("# review\n\n- Status: ✓ completed\n- Session: a3f7b9c2d1e8f4a1\n- Profile: reviewer\n")
    for line in ("- Model: offline/scripted", "- Started: 1970-01-01 00:00:01 UTC", "- Cost: $0.0100"):
        assert f"\n{line}\n" in f"{text}\n"
    assert "- Tokens: 120 (100 in, 20 out)" in text


def test_every_run_has_a_section_with_its_task_and_its_end() -> None:
    text = markdown_of(run_of(says("One."), prompt="First"), run_of(says("Two."), prompt="Then", status=Status.FAILED))
    assert text.index("## Run 1 of 2\n\n> First") < text.index("One.") < text.index("✓ completed · 12.3s")
    assert text.index("## Run 2 of 2\n\n> Then") < text.index("Two.") < text.index("✗ failed (timeout) · 12.3s")


def test_calls_and_results_are_there_in_full() -> None:
    long = "\n".join(f"line {number}" for number in range(1000))
    text = markdown_of(run_of(says(call("1", "bash", command="make\nmake test")), returns("1", "bash", long)))
    assert "→ `bash → make …`\n\n```sh\nmake\nmake test\n```" in text
    assert f"↳ `bash → make …` returned:\n\n```\n{long}\n```" in text


def test_a_call_is_told_once_where_its_first_line_says_all_of_it() -> None:
    calls = says(call("1", "bash", command="sleep 40"), call("2", "bash", command="sleep 50", timeout=9))
    text = markdown_of(run_of(calls))
    assert text.count("sleep 40") == 1
    assert "→ `bash → sleep 50`\n\n```sh\nsleep 50\n```\n\n```\ntimeout: 9\n```" in text


def test_a_failed_and_an_empty_result_are_told_apart() -> None:
    text = markdown_of(
        run_of(
            says(call("1", "read", path="a"), call("2", "read", path="b")),
            returns("1", "read", "no such file", is_error=True),
            returns("2", "read", ""),
        )
    )
    assert "✗ `read → a` failed:\n\n```\nno such file\n```" in text
    assert "↳ `read → b` returned:\n\n*(empty)*" in text


def test_files_given_with_the_task_are_there() -> None:
    assert "=== a.py ===\nx = 1" in markdown_of(run_of(was_told("=== a.py ===\nx = 1\n\nDo it")))


def test_a_code_block_that_was_never_closed_ends_with_its_text() -> None:
    assert contained("Look:\n```python\nprint(1)") == "Look:\n```python\nprint(1)\n```"
    text = markdown_of(run_of(says("Look:\n```python\nprint(1)"), says("Next.")))
    assert [token.content for token in MarkdownIt().parse(text) if token.content == "Next."]


def test_a_result_cannot_end_its_own_code_block() -> None:
    text = markdown_of(run_of(says(call("1", "read", path="a")), returns("1", "read", "```\n# Not a heading\n````")))
    headings = [token for token in MarkdownIt().parse(text) if token.type == "heading_open"]
    assert len(headings) == 2


def test_markup_of_an_agent_stays_text_and_cannot_hide_what_follows() -> None:
    text = markdown_of(run_of(says("<!-- hidden\n\n<script>x()</script> <div>"), says("Seen.")))
    tokens = MarkdownIt().parse(text)
    assert not [token for token in tokens if token.type == "html_block"]
    inline = [child for token in tokens for child in token.children or ()]
    assert not [child for child in inline if child.type == "html_inline"]
    assert [child for child in inline if child.content == "Seen."]


@pytest.mark.parametrize(
    "text",
    [
        "- a\n  ```\n  code\n\nAfter <script>x()</script>",
        "> ```\n> code\n\n<script>x()</script>",
        "\\`<script>x()</script>\\`",
        "1. ~~~\n   a\n\n   <!-- b\n\n<style>",
        "```\n" + "x" * 600_000,
        "<![CDATA[ x",
        "<?php x",
        "a `b\n<script>x()</script>` c",
    ],
)
def test_no_text_can_touch_what_follows_it(text: str) -> None:
    assert_keeps_to_itself(text)


@given(text=st.text(alphabet="`~<>!-[]()\\\"'* >#1.|abscript/:\n ", max_size=80))
def test_not_even_text_that_nobody_would_write_can(text: str) -> None:
    assert_keeps_to_itself(text)


def assert_keeps_to_itself(text: str) -> None:
    tokens = MarkdownIt().parse(f"{contained(text)}\n\nNext.")
    assert (tokens[-2].content, tokens[-2].level) == ("Next.", 1)
    inline = [child.type for token in tokens for child in token.children or ()]
    assert not {"html_block", "html_inline"} & {*inline, *(token.type for token in tokens)}


def test_code_and_links_are_left_as_they_are() -> None:
    text = "`<b>` and ``a`<i>`` and <https://example.org> and 1 < 2\n\n```html\n<p>\n```\n~~~\n<p>\n~~~"
    assert contained(text) == text


def test_code_holds_any_number_of_backticks() -> None:
    assert fenced("a ```` b") == "`````\na ```` b\n`````"
    assert code_span("`a``b`") == "``` `a``b` ```"


@pytest.mark.parametrize("at", [None, -1, 10**18, 2**63])
def test_a_time_beyond_the_calendar_is_not_shown(at: int | None) -> None:
    assert moment(at) == ""
    assert moment(1_793_541_802_000) == "2026-11-01 14:03:22 UTC"


HOSTILE = st.text(alphabet="`~<>!-[]()\\\"'*_ >#1.|&;:/=+ab\n\r\t\u2028\x0b\x85 ", max_size=60)


@given(text=HOSTILE | st.text(max_size=60))
def test_a_code_span_is_one_element_whatever_its_text(text: str) -> None:
    for line, around in (("{}", ""), ("→ {}", "→ "), ("- a: {}", "a: "), ("# {}", ""), ("> {}", "")):
        tokens = MarkdownIt().enable("table").parse(f"{line.format(code_span(text))}\n\nNext.")
        first, last = (token for token in tokens if token.type == "inline")
        assert [child.type for child in first.children or ()] == ["text"] * bool(around) + ["code_inline"]
        assert last.content == "Next."


@given(text=HOSTILE | st.text(max_size=60))
def test_a_name_inside_a_line_is_mere_text(text: str) -> None:
    name = f"x{text}x"
    for line in ("- a: {}", "# {}", "**{}:**"):
        tokens = MarkdownIt().enable("table").enable("strikethrough").parse(f"{line.format(inline(name))}\n\nNext.")
        first, last = (token for token in tokens if token.type == "inline")
        assert {child.type for child in first.children or ()} <= {"text", "text_special", "strong_open", "strong_close"}
        assert last.content == "Next."


@given(text=HOSTILE)
def test_the_shape_of_a_session_is_the_same_whatever_names_are_in_it(text: str) -> None:
    assert _shape(f"x{text}x") == _shape("xx")


def _shape(name: str) -> list[str]:
    run = run_of(
        says("Looking.", call("1", name, **{name: "a", f"{name}.command": "b", f"long {name}": "c\nd"})),
        returns("1", name, "Found."),
        profile=name,
        model=name,
    )
    parser = MarkdownIt().enable("table")
    return [token.type for token in parser.parse(markdown_of(run, run))]
