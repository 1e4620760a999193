"""Runs in memory as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser

from pi_subagents.export import Conversation, Entry, RunPage, session_html, session_markdown
from pi_subagents.fold import RunState, fold
from pi_subagents.models import event as ev


def entries_of(events: Sequence[ev.Event]) -> list[Entry]:
    conversation = Conversation()
    return [*(entry for event in events for entry in conversation.take(event)), *conversation.rest()]


def page_of(events: Sequence[ev.Event]) -> RunPage:
    return RunPage(fold(RunState(), events), entries_of(events))


def markdown_of(*runs: Sequence[ev.Event]) -> str:
    return "\n\n".join(session_markdown([page_of(events) for events in runs]))


def html_of(*runs: Sequence[ev.Event]) -> str:
    return "".join(session_html([page_of(events) for events in runs], 1_793_541_802_000))


class Page(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data
