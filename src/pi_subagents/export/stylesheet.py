"""How the page looks: one sheet, light or dark as the reader's system is, nothing loaded from anywhere."""

from __future__ import annotations

STYLESHEET = """
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
