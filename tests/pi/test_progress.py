"""What a surface is told of a call while its agents are at work."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from pi_subagents.offline import Call, Script, Turn
from pi_subagents.tools import Progress, ToolContext, Update
from tests.pi.stage import Play


async def test_windows_fill_while_the_agent_works_and_no_oftener_than_people_can_read(play: Play) -> None:
    command = "until [ -e gate ]; do sleep 0.05; done"
    work = Turn("Looking around.", calls=(Call("bash", {"command": command}),))
    stage = play(Script().otherwise([work, Turn("All is well.", chunks=12, chunk_delay_s=0.05)]))
    updates: list[tuple[float, dict[str, Any]]] = []

    def take(progress: Progress) -> None:
        if not isinstance(progress, Update):
            return
        details = progress.details()
        updates.append((time.monotonic(), details))
        if _lines(details) == ["Looking around.", f"→ bash → {command}"]:
            (stage.project / "gate").touch()  # the agent is at work until that was shown

    context = ToolContext(stage.place, on_progress=take)
    answer = await stage.tool("delegate_to_subagents", context=context, tasks=[{"name": "t", "prompt": "Go."}])
    moments = [moment for moment, _details in updates]
    assert all(later - earlier >= 0.045 for earlier, later in pairwise(moments))
    during = [details for _moment, details in updates if details["globalStatus"] == "running"]
    assert {details["windows"][0]["status"] for details in during} == {"running"}
    assert {tuple(details["sessionIds"]) for details in during} == {tuple(answer.details["sessionIds"])}
    assert answer.details["globalStatus"] == "done"
    assert _lines(answer.details)[-1] == "All is well."


def _lines(details: dict[str, Any]) -> list[str]:
    return [line["text"] for line in details["windows"][0]["lines"]]
