"""Runs of agents other than `pi` on the full screen."""

from __future__ import annotations

from pi_subagents.models import Usage
from pi_subagents.models import event as ev
from tests.kit.sessions import call, says
from tests.surfaces.watch.kit import LARGE, NARROW, WIDE, Bench, watching

DIFF = "@@ -1 +1 @@\n-green\n+black\n"


async def test_a_run_names_its_agent_says_that_its_cost_is_unknown_and_unfolds_what_it_changed(bench: Bench) -> None:
    bench.tea.add(
        says("First", call("1", "edit", path="tea.txt")),
        ev.ToolStarted(id="1", name="edit", arguments={"path": "tea.txt"}),
        ev.ApprovalRequested(id="7", what="edit tea.txt"),
        ev.ApprovalAnswered(id="7", allowed=True),
        ev.FileChanged(path="tea.txt", diff=DIFF, tool_call_id="1"),
        ev.UsageTotal(usage=Usage(total_tokens=900), has_cost=False),
        name="brew",
        profile="deep",
        harness="codex",
    )
    async with watching(bench) as eyes:
        for size in (WIDE, NARROW):
            await eyes.resize(size)
            await eyes.until_listed("brew", "unknown")
        await eyes.resize(LARGE)
        await eyes.until_listed("deep/codex", "cost unknown")
        await eyes.until_seen("deep • codex")
        await eyes.until_seen("Asks for permission: edit tea.txt")
        await eyes.until_seen("Allowed (approvals: allow): edit tea.txt")
        await eyes.until_seen("± tea.txt (+1 -1)")
        assert "$0.0000" not in eyes.screen


async def test_a_search_finds_runs_by_their_agent(bench: Bench) -> None:
    bench.tea.add(says("x"), name="one", harness="claude")
    bench.tea.add(says("x"), name="two")
    async with watching(bench) as eyes:
        await eyes.until_listed("one", "two")
        await eyes.pilot.press("slash", *"claude", "enter")
        await eyes.until_names("one")
