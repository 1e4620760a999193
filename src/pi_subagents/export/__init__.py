"""Whole sessions for people to read and keep: as Markdown and as one HTML page. Pure: events in, text out."""

from pi_subagents.export.answers import answer_parser, is_too_deep
from pi_subagents.export.arguments import Block, argument_blocks
from pi_subagents.export.containment import code_span
from pi_subagents.export.entries import (
    Added,
    Called,
    Conversation,
    Entry,
    Given,
    Noticed,
    Returned,
    Said,
    Thought,
    entry_size,
)
from pi_subagents.export.facts import RunPage, error_words, figures, moment, seconds, status_words
from pi_subagents.export.html import session_html
from pi_subagents.export.markdown import entry_markdown, run_ending, run_heading, session_heading, session_markdown
from pi_subagents.export.remarks import call_remarks

__all__ = [
    "Added",
    "Block",
    "Called",
    "Conversation",
    "Entry",
    "Given",
    "Noticed",
    "Returned",
    "RunPage",
    "Said",
    "Thought",
    "answer_parser",
    "argument_blocks",
    "call_remarks",
    "code_span",
    "entry_markdown",
    "entry_size",
    "error_words",
    "figures",
    "is_too_deep",
    "moment",
    "run_ending",
    "run_heading",
    "seconds",
    "session_heading",
    "session_html",
    "session_markdown",
    "status_words",
]
