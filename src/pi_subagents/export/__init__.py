"""Whole sessions for people to read and keep: as Markdown and as one HTML page. Pure: events in, text out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.lazy import names_from

if TYPE_CHECKING:
    from pi_subagents.export.entries import (
        Added,
        Called,
        Changed,
        Conversation,
        Entry,
        Given,
        Noticed,
        Returned,
        Said,
        Thought,
    )
    from pi_subagents.export.facts import RunPage, error_words, seconds, status_words, usage_words
    from pi_subagents.export.html import session_html
    from pi_subagents.export.markdown import (
        code_span,
        entry_markdown,
        run_ending,
        run_heading,
        session_heading,
        session_markdown,
    )
    from pi_subagents.export.prose import answer_parser, is_too_deep

__all__ = [
    "Added",
    "Called",
    "Changed",
    "Conversation",
    "Entry",
    "Given",
    "Noticed",
    "Returned",
    "RunPage",
    "Said",
    "Thought",
    "answer_parser",
    "code_span",
    "entry_markdown",
    "error_words",
    "is_too_deep",
    "run_ending",
    "run_heading",
    "seconds",
    "session_heading",
    "session_html",
    "session_markdown",
    "status_words",
    "usage_words",
]

__getattr__ = names_from(
    __name__,
    {
        "entries": "Added Called Changed Conversation Entry Given Noticed Returned Said Thought",
        "facts": "RunPage error_words seconds status_words usage_words",
        "html": "session_html",
        "markdown": "code_span entry_markdown run_ending run_heading session_heading session_markdown",
        "prose": "answer_parser is_too_deep",
    },
)
