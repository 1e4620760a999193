"""What happens around the conversation, in words: retries, compaction, being stopped, losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pi_subagents.models import event as ev
from pi_subagents.progress.arguments import one_line
from pi_subagents.text import counted

_MEGABYTE = 1_000_000
_NOUNS = {"turn": "Model error", "summary": "Summary failed"}


def notice(event: ev.Event) -> str | None:
    """The line for an event around the conversation; None for every other one and when there is no news."""
    handler = _NOTICES.get(type(event))
    return handler(event) if handler else None


def _retry_started(event: ev.RetryStarted) -> str:
    words = f"{_NOUNS.get(event.what, 'Error')}, retrying"
    if event.delay_ms > 0:
        words += f" in {event.delay_ms / 1000:.3g} s"
    if event.attempt > 0:
        words += f" ({event.attempt}/{event.max_attempts})" if event.max_attempts else f" ({event.attempt})"
    return _with_detail(words, event.message)


def _held_back(event: ev.HeldBack) -> str:
    seconds = max(event.until - event.at, 0) / 1000
    return f"Waiting {seconds:.3g} s: {one_line(event.provider)} asked us to slow down"


def _retry_ended(event: ev.RetryEnded) -> str | None:
    if event.success:
        return None
    attempts = f" after {counted(event.attempt, 'attempt')}" if event.attempt > 0 else ""
    return _with_detail(f"{_NOUNS.get(event.what, 'Error')}, gave up{attempts}", event.message)


def _compaction_started(_event: ev.CompactionStarted) -> str:
    return "Compacting the conversation"


def _compaction_ended(event: ev.CompactionEnded) -> str:
    if event.aborted:
        return _with_detail("Compaction aborted", event.message)
    return _with_detail("Compaction failed", event.message) if event.message else "Compaction finished"


def _stop_requested(event: ev.StopRequested) -> str:
    return _with_detail("Stopping", event.message)


def _extension_failed(event: ev.ExtensionFailed) -> str:
    path = one_line(event.path)
    return _with_detail(f"Extension failed: {path}" if path else "Extension failed", event.message)


def _dropped(event: ev.Dropped) -> str:
    return f"Left out a record of {event.size} bytes: too large to keep"


def _details_dropped(event: ev.DetailsDropped) -> str:
    return (
        f"The journal has reached {event.bound // _MEGABYTE:,} MB: from here on it leaves out details, "
        "such as streamed and printed text, and cuts long messages"
    )


def _with_detail(words: str, detail: str | None) -> str:
    text = one_line(detail)
    return f"{words}: {text}" if text else words


_NOTICES: dict[type[ev.Event], Callable[[Any], str | None]] = {
    ev.HeldBack: _held_back,
    ev.RetryStarted: _retry_started,
    ev.RetryEnded: _retry_ended,
    ev.CompactionStarted: _compaction_started,
    ev.CompactionEnded: _compaction_ended,
    ev.StopRequested: _stop_requested,
    ev.ExtensionFailed: _extension_failed,
    ev.Dropped: _dropped,
    ev.DetailsDropped: _details_dropped,
}
