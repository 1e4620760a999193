"""A session goes on after any end of its last run: retold, or as the agent's own conversation."""

from __future__ import annotations

import json
import random
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from pi_subagents.models import FileSlice, Reason, Status
from pi_subagents.offline import Call, Hang, Say, Script, Turn
from pi_subagents.store import JOURNAL_FILE, load_run
from tests.kit.command import argv
from tests.kit.waiting import until
from tests.pi.stage import WAIT_S, Play, Stage, processes_below

LEARNT = "the number is 4711"
FIND_OUT = Turn("I look it up.", (Call("bash", {"command": f"echo {LEARNT}"}),))


def start_holder(stage: Stage, prompt: str) -> subprocess.Popen[bytes]:
    """A process of its own that delegates one task."""
    call = json.dumps({"tasks": [{"name": "first", "prompt": prompt}]})
    return stage.start(argv("call", "delegate_to_subagents", call))


def kill(holder: subprocess.Popen[bytes], after_s: float) -> None:
    """Kill a holder after a while, unless it has finished by then."""
    with suppress(subprocess.TimeoutExpired):
        holder.wait(after_s)
    holder.kill()
    holder.wait()


def crash(stage: Stage, prompt: str, *, when: str) -> str:
    """Delegate in a process of its own and kill it once the journal says `when`; the session's id.

    What the model has seen of it by then, in its second request, is in the agent's own conversation, too.
    """
    holder = start_holder(stage, prompt)
    try:
        stage.model.wait_for_requests(2, WAIT_S)
        until(lambda: any(when in _journal(run_dir) for run_dir in stage.run_dirs))
    finally:
        kill(holder, 0)
    return load_run(stage.run_dirs[-1]).session_id


def _journal(run_dir: Path) -> str:
    return (run_dir / JOURNAL_FILE).read_text(errors="replace")


async def test_after_a_crash_the_next_run_is_told_what_the_first_had_learnt(play: Play) -> None:
    stage = play(Script().when("Previously:", [Say("I remember.")]).otherwise([FIND_OUT, Hang()]))
    session_id = crash(stage, "Find the number.", when=f'"text":"{LEARNT}')
    lost = load_run(stage.run_dirs[0])
    assert (lost.status, lost.reason) == (Status.FAILED, Reason.LOST)
    result = await stage.run("What was it?", resume=session_id)
    assert result.output == "I remember."
    assert result.session_id == session_id
    told = stage.model.requests[-1].first_user_text
    assert told.startswith("Previously:\n\nUser: Find the number.\n\nAssistant: I look it up.\n\nTool Call: bash(")
    assert f"Tool Result: {LEARNT}" in told
    assert told.endswith("Instructions:\n\nWhat was it?")


async def test_where_a_profile_says_so_the_conversation_itself_goes_on_with_its_tool_results(play: Play) -> None:
    stage = play(Script().otherwise([FIND_OUT, Say("Found."), Say("It was 4711.")]))
    stage.write_profile("goes-on", "resumeMode: native")
    first = await stage.run("Find the number.", profile="goes-on")
    kept = (first.run_dir / "child-session.jsonl").read_bytes()
    second = await stage.run("What was it?", profile="goes-on", resume=first.session_id)
    assert second.output == "It was 4711."
    request = stage.model.requests[-1]
    assert [result.text.strip() for result in request.tool_results] == [LEARNT]
    assert request.first_user_text == "Find the number."
    assert request.last_user_text == "What was it?"
    assert (first.run_dir / "child-session.jsonl").read_bytes() == kept, "the first run's own record was changed"


async def test_a_native_resume_works_after_a_crash_too(play: Play) -> None:
    stage = play(
        Script().otherwise([FIND_OUT, lambda request: Hang() if request.last_user_text == "Go" else Say("4711")])
    )
    stage.write_settings(resumeMode="native")
    session_id = crash(stage, "Go", when=f'"text":"{LEARNT}')
    result = await stage.run("And now?", resume=session_id)
    assert result.output == "4711"
    assert [found.text.strip() for found in stage.model.requests[-1].tool_results] == [LEARNT]


async def test_without_a_conversation_a_native_resume_retells_and_says_so(play: Play) -> None:
    stage = play(Script().otherwise([Say("Done.")]))
    stage.write_settings(resumeMode="native")
    first = await stage.run("Begin.")
    (first.run_dir / "child-session.jsonl").unlink()
    second = await stage.run("Go on.", resume=first.session_id)
    assert second.ok
    assert stage.model.requests[-1].first_user_text.startswith("Previously:")
    assert "retold instead" in str(load_run(second.run_dir).note)


async def test_a_transcript_beyond_the_limit_is_shortened_in_the_middle_with_a_mark(play: Play) -> None:
    stage = play(Script().when("Previously:", [Say("ok")]).otherwise([Say("A" * 3000 + "\n" + "Z" * 3000)]))
    stage.write_settings(maxResumeCharacters=2000)
    first = await stage.run("Begin.")
    await stage.run("Go on.", resume=first.session_id)
    told = stage.model.requests[-1].first_user_text
    assert "characters of this run left out" in told
    assert "User: Begin." in told
    assert told.count("Z") > 500
    assert len(told) < 2300


async def test_what_a_run_was_told_with_its_files_is_told_again_as_it_was_sent(play: Play) -> None:
    stage = play(Script().when("What was it?", [Say("ok")]).otherwise([Say("Read them.")]))
    file = stage.write("notes.md", "The number is 4711.\n\nPreviously: 4710.\n")
    first = await stage.run("Read the files.", files=("notes.md", "gone.md", FileSlice(path="notes.md", head=1)))
    sent = stage.model.requests[-1].first_user_text
    file.write_text("Something else by now.\n")
    await stage.run("What was it?", resume=first.session_id)
    told = stage.model.requests[-1].first_user_text
    assert sent.endswith("Read the files.")
    assert sent.count("The number is 4711.") == 2
    assert told == f"Previously:\n\nUser: {sent}\n\nAssistant: Read them.\n\nInstructions:\n\nWhat was it?"


async def test_the_tools_read_every_run_of_a_session(play: Play) -> None:
    stage = play(Script().when("Previously:", [Say("Second answer.")]).otherwise([FIND_OUT, Say("First answer.")]))
    first = await stage.run("Begin.")
    await stage.run("Go on.", resume=first.session_id)
    output = await stage.tool("get_subagent_output", sessionId=first.session_id)
    assert output.text == "Second answer."
    assert output.details["runCount"] == 2
    session = await stage.tool("get_subagent_session", sessionId=first.session_id)
    assert session.text == (
        "=== Run 1/2 (completed) ===\n"
        f'I look it up.\n→ bash: {{"command":"echo {LEARNT}"}}\n---\n[tool result]: {LEARNT}\n\n---\nFirst answer.\n'
        "---\n=== Run 2/2 (completed) ===\nSecond answer."
    )
    assert session.details["messageCount"] == 6


@pytest.mark.parametrize("seed", range(5))
def test_killed_at_random_a_real_agent_leaves_the_truth_and_nothing_else(seed: int, play: Play) -> None:
    stage = play(Script().otherwise([FIND_OUT, Turn("Done.", chunks=20, chunk_delay_s=0.02)]))
    chance = random.Random(seed)
    for _ in range(2):
        kill(start_holder(stage, "Go."), chance.uniform(0.3, 1.5))
    until(lambda: not processes_below(stage.project))
    for run_dir in stage.run_dirs:
        before = _journal(run_dir)
        state = load_run(run_dir)
        assert state.status.is_terminal
        # The second holder may have found the first run lost, and ended it.
        assert (state.reason is Reason.LOST) == ('"type":"ended"' not in before or '"reason":"lost"' in before)
        assert _journal(run_dir).startswith(before[: before.rfind("\n") + 1])
