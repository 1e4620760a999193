"""A session as one HTML page that needs nothing else: no script, no request, light and dark.

Everything that comes from outside passes through `escape` or through `prose_html`; should either fail, the page's
content security policy still forbids it to run or load anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from pi_subagents.export.calls_html import calls_html
from pi_subagents.export.entries import Added, Called, Entry, Given, Noticed, Returned, Said, Thought
from pi_subagents.export.facts import Fact, RunPage, figures, moment, origin, session_facts, status_words, title
from pi_subagents.export.pairing import Placed, paired
from pi_subagents.export.prose import prose_html, verbatim_html
from pi_subagents.export.stylesheet import STYLESHEET
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.text import counted, printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_TONES = {Status.COMPLETED: "good", Status.FAILED: "bad", Status.ABORTED: "bad"}
_FINAL_NAMES = {Status.COMPLETED: "Answer", Status.FAILED: "Last text", Status.ABORTED: "Last text"}


def session_html(runs: Sequence[RunPage], exported_at: int) -> Iterator[str]:
    """The page, piece by piece; `exported_at` in milliseconds since the epoch."""
    name = escape(title(runs))
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{STYLESHEET}</style>\n</head>\n<body>\n<main>\n"
    )
    yield f'<header>\n<div class="top"><h1>{name}</h1>{_pill(runs[-1].state)}</div>\n'
    yield _facts([fact for fact in session_facts(runs) if fact[0] != "Status"])
    yield _contents(runs)
    yield "</header>\n"
    for number, run in enumerate(runs, 1):
        yield from _run(run, number, len(runs))
    yield f"<footer>Written by pi-subagents, {moment(exported_at)}</footer>\n</main>\n</body>\n</html>\n"


def _pill(state: RunState) -> str:
    return f'<span class="pill {_TONES.get(state.status, "busy")}">{escape(status_words(state))}</span>'


def _facts(facts: Sequence[Fact]) -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>\n" for name, value in facts)
    return f'<dl class="facts">\n{rows}</dl>\n'


def _contents(runs: Sequence[RunPage]) -> str:
    if len(runs) == 1:
        return ""
    links = " ".join(
        f'<a href="#run-{number}">Run {number}: {escape(run.state.status)}</a>' for number, run in enumerate(runs, 1)
    )
    return f'<nav aria-label="Runs">{links}</nav>\n'


def _run(run: RunPage, number: int, count: int) -> Iterator[str]:
    state = run.state
    several = count > 1
    heading = f"<h2>Run {number}</h2>{_pill(state)}" if several else "<h2>Conversation</h2>"
    yield f'<section class="run" id="run-{number}">\n<div class="top">{heading}'
    yield f'<span class="figures">{escape(figures(state))}</span></div>\n'
    if several:
        yield f'<p class="origin">{escape(origin(state))}</p>\n'
    yield _task("Task", printable(state.prompt))
    yield from _conversation(run.entries, _FINAL_NAMES.get(state.status, ""))
    yield "</section>\n"


def _conversation(entries: Iterable[Entry], final_name: str) -> Iterator[str]:
    final = _last_said(entries) if final_name else None
    for are_calls, group in groupby(paired(entries), _is_call):
        if are_calls:
            yield from calls_html(map(_call, group))
        else:
            for placed in group:
                yield _entry(placed.entry, final=final_name if placed.number == final else "")


def _last_said(entries: Iterable[Entry]) -> int | None:
    last = None
    for number, entry in enumerate(entries):
        if isinstance(entry, Said):
            last = number
    return last


def _is_call(placed: Placed) -> bool:
    return isinstance(placed.entry, Called | Returned)


def _call(placed: Placed) -> tuple[Called | None, Returned | None]:
    entry = placed.entry
    return (
        (entry, placed.result) if isinstance(entry, Called) else (None, entry if isinstance(entry, Returned) else None)
    )


def _entry(entry: Entry, *, final: str) -> str:
    """`final` names the text that the run leaves; it is empty for every other entry."""
    match entry:
        case Said(text, unfinished):
            label = f'<span class="label">{final}</span>' if final else ""
            note = '<p class="muted">(unfinished)</p>' if unfinished else ""
            kind = "said final" if final else "said"
            return f'<div class="{kind}">{label}<div class="prose">{prose_html(text)}{note}</div></div>\n'
        case Thought(text):
            return _aside("Thinking", f'<div class="prose">{prose_html(text)}</div>')
        case Given(text):
            return _aside("What the agent got with the task: files or earlier runs", verbatim_html(text))
        case Added(role, text):
            return _task(role, text)
        case Noticed(text, "error"):
            return f'<div class="error">✗ {escape(text)}</div>\n'
        case Noticed(text, "output"):
            return _aside(
                f"Printed outside the conversation: {counted(text.count(chr(10)) + 1, 'line')}", verbatim_html(text)
            )
        case Noticed(text):
            return f'<p class="aside">{escape(text)}</p>\n'
    raise AssertionError(entry)


def _aside(summary: str, inside: str) -> str:
    return f'<details class="aside"><summary>{escape(summary)}</summary>{inside}</details>\n'


def _task(label: str, text: str) -> str:
    inside = f'<span class="label">{escape(label)}</span><div class="prose">{prose_html(text)}</div>'
    return f'<div class="task">{inside}</div>\n'
