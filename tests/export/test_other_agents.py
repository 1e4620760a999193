"""What pages say of agents other than `pi`: which one it was, what it changed, asked for and has used."""

from __future__ import annotations

import msgspec
import pytest

from pi_subagents.export import Changed, Noticed
from pi_subagents.models import Usage
from pi_subagents.models import event as ev
from tests.export.kit import Page, entries_of, html_of, markdown_of
from tests.progress.windows_kit import COMPLETED, CREATED, STARTED, assistant, call, result

CODEX = msgspec.structs.replace(CREATED, harness="codex", model="gpt-5.5")
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-old <b>\n+new\n+more\n"
CHANGED = ev.FileChanged(path="/home/ann/project/src/a.py", diff=DIFF, tool_call_id="1")
SPENT = ev.UsageTotal(usage=Usage(total_tokens=1200), context_used=900, context_size=2000, has_cost=False)
RUN = (
    CODEX,
    STARTED,
    assistant(call("1", "edit", path="src/a.py")),
    CHANGED,
    result("1", "edit", "ok"),
    ev.ApprovalRequested(id="7", what="rm -rf build"),
    ev.ApprovalAnswered(id="7"),
    SPENT,
    assistant("Done."),
    COMPLETED,
)


def test_changes_requests_and_answers_have_their_places() -> None:
    entries = entries_of(RUN)
    assert Changed("src/a.py", " (+2 -1)", DIFF) in entries
    notices = [entry.text for entry in entries if isinstance(entry, Noticed)]
    assert notices == ["Asks for permission: rm -rf build", "Denied (approvals: deny): rm -rf build"]


@pytest.mark.parametrize("fact", ["Agent: codex", "Context: 900 of 2,000 tokens", "Cost: unknown", "Tokens: 1,200"])
def test_the_facts_name_the_agent_and_what_nobody_knows(fact: str) -> None:
    assert f"- {fact}" in markdown_of(RUN)


def test_files_that_were_changed_are_listed_and_shown_with_their_diffs() -> None:
    text = markdown_of(RUN)
    assert "- Files changed: src/a.py\n" in text
    assert "± `src/a.py` (+2 -1)\n\n```diff\n--- a/a.py" in text
    assert "1,200 tokens, cost unknown" in text


def test_tokens_that_an_agent_does_not_report_are_unknown_and_not_zero() -> None:
    text = markdown_of((CODEX, STARTED, ev.UsageTotal(usage=Usage(), has_cost=False), assistant("Done."), COMPLETED))
    assert "- Tokens: unknown\n" in text
    assert "0 tool calls, tokens unknown, cost unknown" in text


def test_a_page_folds_a_diff_away_and_colours_it() -> None:
    html = html_of(RUN)
    assert "<code>± src/a.py</code>" in html
    assert '<span class="removed">-old &lt;b&gt;</span>' in html
    assert '<span class="added">+new</span>' in html
    assert "b" not in [tag for tag, _ in Page(html).elements]


def test_a_change_that_is_not_described_is_told_all_the_same() -> None:
    told = (CODEX, STARTED, ev.FileChanged(path="b.bin"), COMPLETED)
    assert "± `b.bin`\n\n---" in markdown_of(told)
    assert "(no diff reported)" in html_of(told)


@pytest.mark.parametrize(("mode", "word"), [("native", "resumed"), ("retell", "retold")])
def test_a_run_that_went_on_says_what_its_agent_knew(mode: str, word: str) -> None:
    later = msgspec.structs.replace(CODEX, resume_mode=mode)
    page = html_of(RUN, (later, STARTED, COMPLETED))
    assert f"codex · gpt-5.5 · {word} · " in page
    assert page.count(f" · {word}") == 1
    assert f"## Run 2 of 2 ({word})\n" in markdown_of(RUN, (later, STARTED, COMPLETED))


def test_of_pi_nothing_of_this_is_said() -> None:
    text = markdown_of((CREATED, STARTED, assistant("Done."), COMPLETED))
    assert not [word for word in ("Agent:", "Context:", "Files changed", "unknown") if word in text]
