"""The HTML page as text: complete, self-contained, and dead to whatever an agent wrote."""

from __future__ import annotations

import re
from html import escape

import pytest

from pi_subagents.export.prose import prose_html
from pi_subagents.models import Status
from pi_subagents.models import event as ev
from tests.export.kit import Page, html_of
from tests.kit.sessions import call, returns, run_of, says, was_told

EVIL = "<script>x()</script><img src=x onerror=x()><style>*{}</style></pre></details>\"'><iframe src=//e.x>"
ALLOWED = re.compile(
    "html|head|meta|title|style|body|main|header|div|h[1-6]|span|dl|dt|dd|nav|a|section|details|summary"
    "|code|pre|p|ul|ol|li|table|thead|tbody|tr|th|td|blockquote|em|strong|s|hr|br|footer"
)


def test_everything_is_on_the_page() -> None:
    long = "\n".join(f"line {number}" for number in range(2000))
    page = Page(
        html_of(
            run_of(
                was_told("=== a.py ===\n\nDo it"),
                says(ev.ThinkingPart("I wonder."), call("1", "bash", command="make test")),
                returns("1", "bash", long),
                says("All **good**."),
                profile="reviewer",
            )
        )
    )
    for text in ("review", "✓ completed", "a3f7b9c2d1e8f4a1", "reviewer", "offline/scripted", "$0.0200", long):
        assert text in page.text
    for text in ("1970-01-01 00:00:01 UTC", "240 (200 in, 40 out)", "12.3s", "make test", "I wonder.", "=== a.py"):
        assert text in page.text
    assert [tag for tag, _ in page.elements].count("details") == 3
    assert ("strong", {}) in page.elements


def test_underscores_and_line_breaks_stay() -> None:
    assert prose_html("__init__.py\n_x_ and *y*") == "<p>__init__.py<br />\n_x_ and <em>y</em></p>\n"


def test_what_is_nested_too_deep_is_there_as_it_was_written() -> None:
    for marks in (">" * 60, "- " * 40):
        assert f"{escape(marks)} deep words" in prose_html(f"{marks} deep words")


def test_a_call_and_its_result_share_one_fold() -> None:
    text = html_of(
        run_of(
            says(call("1", "read", path="a"), call("2", "ls")), returns("2", "ls", "x"), returns("1", "read", "RESULT")
        )
    )
    folds = text.split("<details>")[1:]
    assert len(folds) == 2
    assert "read → a" in folds[0]
    assert "RESULT" in folds[0]
    assert "1 file" in folds[1]


def test_a_call_that_got_no_result_says_so() -> None:
    assert "no result" in html_of(run_of(says(call("1", "read", path="a")), status=Status.ABORTED))


def test_a_failed_call_is_marked() -> None:
    text = html_of(run_of(says(call("1", "bash", command="false")), returns("1", "bash", "exit 1", is_error=True)))
    assert '<details class="failed">' in text


def test_several_runs_have_a_section_each_and_links_to_them() -> None:
    page = Page(html_of(run_of(says("a")), run_of(says("b"), status=Status.FAILED)))
    assert [attributes["id"] for tag, attributes in page.elements if tag == "section"] == ["run-1", "run-2"]
    assert [attributes["href"] for tag, attributes in page.elements if tag == "a"] == ["#run-1", "#run-2"]


def test_the_page_loads_nothing_and_forbids_it() -> None:
    text = html_of(run_of(says("![x](https://example.org/x.png) [y](https://example.org)")))
    page = Page(text)
    policies = [attributes.get("content") for tag, attributes in page.elements if attributes.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]
    assert not [
        attributes for _, attributes in page.elements if {"src", "srcset", "data", "background"} & set(attributes)
    ]
    assert "url(" not in text
    assert "@import" not in text
    assert "[image: x – https://example.org/x.png]" in page.text


def test_light_and_dark_are_left_to_the_reader() -> None:
    assert "@media (prefers-color-scheme: dark)" in html_of(run_of(says("a")))


@pytest.mark.parametrize("ends", [Status.COMPLETED, Status.FAILED, None])
def test_markup_stays_text_wherever_an_agent_can_put_it(ends: Status | None) -> None:
    text = html_of(
        run_of(
            was_told(f"{EVIL}\n\nDo it"),
            was_told(EVIL),
            says(ev.ThinkingPart(EVIL), EVIL, call("1", EVIL, **{EVIL: EVIL, "command": EVIL}), error_message=EVIL),
            returns("1", EVIL, EVIL, is_error=True),
            returns("9", EVIL, EVIL),
            ev.Stderr(text=EVIL),
            ev.Delta(kind="text", text=EVIL),
            prompt=EVIL,
            status=ends,
            profile=EVIL,
            note=EVIL,
        )
    )
    page = Page(text)
    assert not [tag for tag, _ in page.elements if not ALLOWED.fullmatch(tag)]
    assert not [attributes for _, attributes in page.elements if any(name.startswith("on") for name in attributes)]
    assert page.text.count("<script>x()</script>") >= 10
    assert text.count("</details>") == text.count("<details")


@pytest.mark.parametrize(
    "url", ["javascript:x()", "JaVaScRiPt:x()", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//e.x", "/etc"]
)
def test_only_links_that_a_person_can_judge_are_links(url: str) -> None:
    text = prose_html(f"[a]({url}) <{url}> ![b]({url}) [c]\n\n[c]: {url}")
    assert "<a " not in text
    assert "<img" not in text


def test_good_links_are_links_that_tell_nobody_where_they_were_clicked() -> None:
    text = prose_html("[a](https://example.org/?q=1&r=2) <mailto:ann@example.org>")
    assert text.count('rel="noopener noreferrer nofollow"') == 2
    assert 'href="https://example.org/?q=1&amp;r=2"' in text


def test_headings_of_an_agent_stay_below_those_of_the_page() -> None:
    assert "<h3>One</h3>" in prose_html("# One")
    assert "<h6>Six</h6>" in prose_html("###### Six")


def test_a_text_that_begins_with_a_blank_line_keeps_it() -> None:
    assert "<pre>\n\n\nx</pre>" in html_of(run_of(says(call("1", "read")), returns("1", "read", "\n\nx")))


def test_megabytes_of_text_are_shown_without_being_parsed() -> None:
    text = prose_html("*" * 600_000)
    assert text.startswith("<pre>\n****")


def test_a_run_that_goes_on_is_called_running() -> None:
    text = html_of(run_of(ev.Delta(kind="text", text="So far"), status=None))
    assert not [words for words in ("⏳ running", "So far", "(unfinished)") if words not in text]
    assert "Answer" not in text
