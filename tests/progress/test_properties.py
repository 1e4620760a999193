"""Whatever an agent sends: no line is too wide, nothing is obeyed by a terminal, nothing raises."""

from __future__ import annotations

import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.models import event as ev
from pi_subagents.progress import ProgressWords, body_segments, header_segments, preview_tool_call
from pi_subagents.text import cell_width, clean, clip, clip_start, fit, graphemes, plain, style_tool_line
from tests.progress.windows_kit import CREATED, STARTED, window_of

TOOLS = (
    *("edit", "write", "read", "grep", "find", "ls", "bash", "delegate_to_subagents"),
    *("write_todos", "edit_todos", "list_todos", "lint_files", "workflow_step", "deploy"),
    *("lsp_hover", "lsp_find_symbol", "lsp_refactor_symbol", "fetch_content", "web_search", "fetch_repo"),
    *("get_subagent_output", "get_subagent_session", "list_subagent_profiles"),
)
KEYS = (
    *("path", "file_path", "edits", "oldText", "newText", "content", "pattern", "glob", "offset", "limit"),
    *("command", "tasks", "profile", "todos", "action", "indices", "description", "file", "line", "column"),
    *("newName", "query", "files", "url", "urls", "sessionId"),
)
NASTY = st.sampled_from(
    (
        *("\x1b", "\x1b[", "\x1b]0;", "\x07", "\x9b", "\u202e", "\ud800", "\n", "\r", "\t"),
        *("\u200d", "\ufe0f", "\U0001f1e9", "\U0001f3fd", "\U0001f468", "\u4f60", "e\u0301", "\u0301"),
        *(" && ", "'", '"', "(", "cd . && ", "/"),
    )
)
TEXT = st.lists(NASTY | st.text(max_size=8), max_size=12).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | TEXT, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5)
ARGUMENTS = OBJECTS | JSON
NAMES = st.sampled_from(TOOLS) | TEXT
WIDTHS = st.integers(min_value=-1, max_value=120)
PARTS = st.one_of(
    st.builds(ev.TextPart, TEXT),
    st.builds(ev.ThinkingPart, TEXT),
    st.builds(ev.ToolCallPart, TEXT, NAMES, OBJECTS),
)
EVENTS = st.one_of(
    st.builds(ev.Delta, kind=st.sampled_from(("text", "thinking", "toolCall")), text=TEXT),
    st.builds(
        ev.Message,
        role=st.sampled_from(("assistant", "toolResult", "user")),
        parts=st.lists(PARTS, max_size=4).map(tuple),
        tool_call_id=st.none() | TEXT,
        tool_name=st.none() | NAMES,
        is_error=st.booleans(),
        truncated=st.booleans(),
    ),
    st.builds(ev.ToolStarted, id=TEXT, name=NAMES, arguments=ARGUMENTS),
    st.builds(ev.ToolEnded, id=TEXT, name=NAMES, is_error=st.booleans()),
    st.builds(ev.ToolProgress, id=TEXT, name=NAMES, line=TEXT),
    st.builds(ev.Output, text=TEXT),
    st.builds(ev.Stderr, text=TEXT),
    st.builds(ev.RetryStarted, attempt=st.integers(0, 3), delay_ms=st.integers(0, 10**6), message=TEXT),
    st.builds(ev.CompactionEnded, message=st.none() | TEXT),
    st.builds(ev.ExtensionFailed, path=TEXT, message=TEXT),
)


def obeyed(text: str) -> list[str]:
    """The characters of a line that a terminal would not simply show."""
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        char
        for char in text
        if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(char) in bidi
    ]


@given(TEXT)
def test_no_control_character_survives(text: str) -> None:
    assert obeyed(clean(text)) == []
    assert set(obeyed(clean(text, keep_newlines=True))) <= {"\n"}


@given(TEXT)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(TEXT)
def test_graphemes_are_the_whole_text(text: str) -> None:
    assert "".join(cluster for cluster, _ in graphemes(text)) == text


@given(TEXT.map(clean), WIDTHS)
def test_nothing_is_wider_than_its_width(text: str, width: int) -> None:
    for cut in (clip(text, width), clip_start(text, width), plain(fit(style_tool_line(text), width))):
        assert cell_width(cut) <= max(width, 0)
    if width > 0 and cell_width(text) <= width:
        assert clip(text, width) == clip_start(text, width) == text


@given(TEXT.map(clean), WIDTHS)
def test_a_cut_never_goes_through_a_character(text: str, width: int) -> None:
    whole = [cluster for cluster, _ in graphemes(text)]
    kept = clip(text, width).removesuffix("…") if clip(text, width) != text else text
    assert kept in ["".join(whole[:n]) for n in range(len(whole) + 1)]


@given(NAMES, ARGUMENTS, st.integers(min_value=1, max_value=120))
def test_a_preview_never_raises_and_keeps_its_width(name: str, arguments: Any, width: int) -> None:
    preview = preview_tool_call(name, arguments, width=width, cwd="/home/ann/project")
    for line in preview.split("\n"):
        assert cell_width(line) <= width
        assert obeyed(line) == []


@given(st.lists(EVENTS, max_size=12))
def test_a_windows_lines_are_safe_and_bounded(events: list[ev.Event]) -> None:
    window = window_of(CREATED, STARTED, *events, preview_width=40)
    for line in window.all_messages:
        assert obeyed(line.text) == []
        assert line.text.strip()
        assert line.kind == "text" or cell_width(line.text) <= 42
    for painted in (*body_segments(window), *body_segments(window, True), header_segments(window, 0)):
        assert obeyed(plain(painted)) == []


@given(st.lists(EVENTS, max_size=12), st.integers(min_value=1, max_value=80))
def test_words_are_safe_and_keep_their_width(events: list[ev.Event], width: int) -> None:
    words = ProgressWords(width=width, cwd="/home/ann/project")
    for event in events:
        line = words.say(event)
        assert line is None or (line.strip() and obeyed(line) == [] and cell_width(line) <= width)
