"""A session as one HTML page that needs nothing else: no script, no request, light and dark.

Everything that comes from outside passes through `escape` or through `prose_html`; should either fail, the page's
content security policy still forbids it to run or load anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from pi_subagents.export.entries import (
    Added,
    Called,
    Changed,
    Entry,
    Given,
    Noticed,
    Placed,
    Returned,
    Said,
    Thought,
    paired,
)
from pi_subagents.export.facts import (
    Block,
    Fact,
    RunPage,
    argument_blocks,
    call_remarks,
    figures,
    moment,
    origin,
    session_facts,
    status_words,
    title,
)
from pi_subagents.export.prose import prose_html, verbatim_html
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.text import Style, counted, printable, style_tool_line

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_TONES = {Status.COMPLETED: "good", Status.FAILED: "bad", Status.ABORTED: "bad"}
_FINAL_NAMES = {Status.COMPLETED: "Answer", Status.FAILED: "Last text", Status.ABORTED: "Last text"}


_FOLDED = (Called, Returned, Changed)
_CLASSES = {Style.MUTED: "", Style.ADDED: "added", Style.REMOVED: "removed"}
_BLOCK_CLASSES = {"oldText": "removed", "newText": "added"}


def session_html(runs: Sequence[RunPage], exported_at: int) -> Iterator[str]:
    """The page, piece by piece; `exported_at` in milliseconds since the epoch."""
    name = escape(title(runs))
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLESHEET}</style>\n</head>\n<body>\n<main>\n"
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
    texts_left = sum(isinstance(entry, Said) for entry in entries)
    for are_calls, group in groupby(paired(entries), lambda placed: isinstance(placed.entry, _FOLDED)):
        if are_calls:
            yield '<div class="calls">\n'
            yield from map(_folded, group)  # one at a time: all of them can be larger than memory
            yield "</div>\n"
            continue
        for placed in group:
            texts_left -= isinstance(placed.entry, Said)
            yield _entry(placed.entry, final=final_name if texts_left == 0 else "")


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


def _folded(placed: Placed) -> str:
    return _changed(placed.entry) if isinstance(placed.entry, Changed) else _call(placed)


def _changed(entry: Changed) -> str:
    """A line with the diff folded away below it."""
    side = f'<span class="side">{escape(entry.figures.strip(" ()"))}</span>'
    inside = _diff(entry.diff) if entry.diff.strip() else verbatim_html("(no diff reported)", "muted")
    return (
        f"<details><summary><code>± {escape(entry.path)}</code>{side}</summary>"
        f'<div class="inside">{inside}</div></details>\n'
    )


def _diff(text: str) -> str:
    """Added and removed lines in their colours."""
    lines = (_diff_line(line) for line in text.rstrip("\n").split("\n"))
    return f"<pre>{chr(10).join(lines)}</pre>"


def _diff_line(line: str) -> str:
    kind = "" if line.startswith(("+++ ", "--- ")) else {"+": "added", "-": "removed"}.get(line[:1], "")
    return f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line)


def _call(placed: Placed) -> str:
    """A line, with arguments and result folded away below it."""
    entry = placed.entry
    call = entry if isinstance(entry, Called) else None
    result = entry if isinstance(entry, Returned) else placed.result
    failed = ' class="failed"' if result and result.is_error else ""
    side = f'<span class="side">{escape(" · ".join(call_remarks(call, result)))}</span>'
    inside = "".join([*map(_block, argument_blocks(call.arguments) if call else ()), *_result(result)])
    return (
        f"<details{failed}><summary><code>{_line(call, result)}</code>{side}</summary>"
        f'<div class="inside">{inside}</div></details>\n'
    )


def _line(call: Called | None, result: Returned | None) -> str:
    if call is None:
        return escape(result.name if result else "")
    pieces = []
    for style, text in style_tool_line(f"→ {call.preview}"):
        kind = _CLASSES.get(style, "")
        pieces.append(f'<span class="{kind}">{escape(text)}</span>' if kind else escape(text))
    return "".join(pieces)


def _block(block: Block) -> str:
    label = f'<span class="label">{escape(block.label)}</span>' if block.label else ""
    return label + verbatim_html(block.text, _BLOCK_CLASSES.get(block.label.rpartition(".")[2], ""))


def _result(result: Returned | None) -> Iterator[str]:
    if result is not None:
        yield '<span class="label">Result</span>'
        yield verbatim_html(result.text) if result.text.strip() else verbatim_html("(empty)", "muted")


# Light or dark as the reader's system is, nothing loaded from anywhere.
_STYLESHEET = """
:root {
  color-scheme: light dark;
  --page: #f6f5f2; --card: #ffffff; --ink: #23211d; --soft: #6d6960; --line: #e3dfd6; --code: #f3f1ec;
  --accent: #3d5fa8; --good: #2c7a4b; --bad: #b3372f; --busy: #9a6a00;
  --good-back: #e6f3ea; --bad-back: #fbeae8; --busy-back: #faf1dc;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", "Noto Sans Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16171a; --card: #1e2024; --ink: #e4e2dd; --soft: #9c988f; --line: #33363c; --code: #26292e;
    --accent: #8fb0f2; --good: #7cc99a; --bad: #f0938b; --busy: #e3b964;
    --good-back: #1d3226; --bad-back: #3b2322; --busy-back: #362c17;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.6 var(--sans); overflow-wrap: anywhere; }
main { max-width: 56rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
a { color: var(--accent); text-underline-offset: .15em; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 0; }
pre, code { font-family: var(--mono); font-size: .8125rem; line-height: 1.5; }
pre {
  margin: 0; padding: .75rem .9rem; background: var(--code); border-radius: .5rem;
  white-space: pre-wrap; max-height: 36rem; overflow: auto; tab-size: 4;
}
summary { cursor: pointer; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: .3rem; }

.top { display: flex; flex-wrap: wrap; gap: .4rem .9rem; align-items: baseline; }
.top > :last-child { margin-left: auto; }
.pill { font-size: .8125rem; font-weight: 600; padding: .15rem .7rem; border-radius: 1rem; white-space: nowrap; }
.pill.good { color: var(--good); background: var(--good-back); }
.pill.bad { color: var(--bad); background: var(--bad-back); }
.pill.busy { color: var(--busy); background: var(--busy-back); }
.facts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .9rem 1.5rem;
  margin: 1.5rem 0 0; padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .75rem;
}
.facts dt { font-size: .75rem; color: var(--soft); letter-spacing: .02em; }
.facts dd { margin: 0; font-size: .9375rem; font-variant-numeric: tabular-nums; }
nav { display: flex; flex-wrap: wrap; gap: .4rem 1.1rem; margin: 1.25rem 0 0; font-size: .9375rem; }

.run { margin-top: 2.5rem; }
.run > .top { padding-bottom: .6rem; border-bottom: 1px solid var(--line); }
.origin { margin: .6rem 0 0; }
.figures, .origin { color: var(--soft); font-size: .875rem; font-variant-numeric: tabular-nums; }
.task { margin: 1.25rem 0; padding: .9rem 1.25rem; background: var(--card); border-left: 3px solid var(--accent);
  border-radius: .25rem .75rem .75rem .25rem; }
.label { display: block; font-size: .75rem; color: var(--soft); letter-spacing: .02em; }

.prose > :first-child { margin-top: 0; }
.prose > :last-child { margin-bottom: 0; }
.prose :is(p, ul, ol, table, blockquote, pre) { margin: 0 0 .8rem; }
.prose :is(h3, h4, h5, h6) { margin: 1.2rem 0 .4rem; line-height: 1.3; font-size: 1.05rem; }
.prose h3 { font-size: 1.2rem; }
.prose :is(ul, ol) { padding-left: 1.4rem; }
.prose li > :is(ul, ol) { margin-bottom: 0; }
.prose blockquote { padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft); }
.prose :not(pre) > code { padding: .1em .35em; background: var(--code); border-radius: .3rem; font-size: .875em; }
.prose table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .9375rem; }
.prose :is(th, td) { padding: .35rem .8rem; border: 1px solid var(--line); text-align: left; overflow-wrap: normal; }
.prose hr { border: 0; border-top: 1px solid var(--line); margin: 1.2rem 0; }

.said { margin: 1.1rem 0; }
.final { padding: 1.1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.final > .label { margin-bottom: .4rem; }
.calls { margin: 1.1rem 0; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.calls > details + details { border-top: 1px solid var(--line); }
.calls summary { display: flex; gap: .75rem; align-items: baseline; padding: .45rem .9rem; list-style: none; }
.calls summary::-webkit-details-marker { display: none; }
.calls summary::before { content: "▸"; color: var(--soft); font-size: .75rem; flex: none; }
.calls details[open] > summary::before { content: "▾"; }
.calls summary code { flex: 1; white-space: pre-wrap; }
.calls .inside { padding: 0 .9rem .9rem; }
.calls .inside > pre { margin-bottom: .6rem; }
.calls .inside > pre:last-child { margin-bottom: 0; }
.side { flex: none; color: var(--soft); font-size: .8125rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.failed > summary code, .failed .side { color: var(--bad); }
.muted { color: var(--soft); }
.added { color: var(--good); }
.removed { color: var(--bad); }
pre.added { color: inherit; background: var(--good-back); }
pre.removed { color: inherit; background: var(--bad-back); }

.aside { margin: .9rem 0; color: var(--soft); font-size: .9375rem; }
.aside > pre, .aside > .prose { margin-top: .5rem; }
.error { margin: 1.1rem 0; padding: .7rem 1rem; color: var(--bad); background: var(--bad-back); border-radius: .5rem;
  white-space: pre-wrap; }
footer { margin-top: 3rem; color: var(--soft); font-size: .8125rem; }

@media (max-width: 40rem) {
  main { padding-top: 1.5rem; }
  .facts { grid-template-columns: 1fr 1fr; }
  .calls summary { flex-wrap: wrap; }
  .calls summary code { flex: 1 1 75%; }
  .side { margin-left: 1.4rem; }
}
@media print { body { background: none; } pre { max-height: none; } }
"""
