"""What a run leaves behind: its own records, private, and nothing in what belongs to the user."""

from __future__ import annotations

import json
from pathlib import Path

from pi_subagents import Task
from pi_subagents.fold import RunState, fold
from pi_subagents.models import event as ev
from pi_subagents.offline import Attempts, Call, Fail, Say, Script, Turn
from pi_subagents.store import JOURNAL_FILE, is_held, read_journal
from pi_subagents.store.writing import result_document
from tests.pi.stage import Play, files_below


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


async def test_a_run_has_its_records_and_they_are_for_their_owner_alone(play: Play) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "echo hi"}), Say("Done.")]))
    stage.write_profile("p", "appendSystemPrompt: And please.", body="You are p.")
    result = (await stage.delegate(Task("t", "Go.", profile="p")))[0]
    run_dir = result.run_dir
    assert run_dir.parent == stage.project / ".pi" / "subagents" / "runs"
    names = {path.name for path in run_dir.iterdir()}
    assert {"meta.json", "events.jsonl", "result.json", "stdout.log", "child-session.jsonl", "lease"} <= names
    assert (run_dir / "system-prompt.md").read_text() == "You are p."
    assert [mode(path) for path in (run_dir.parent, run_dir)] == ["0o700"] * 2
    assert {mode(path) for path in run_dir.iterdir()} == {"0o600"}
    assert (run_dir.parent / ".gitignore").read_text() == "*\n"
    assert not is_held(run_dir)


async def test_every_record_that_pi_writes_is_understood_and_the_result_is_what_they_tell(play: Play) -> None:
    calls = (Call("bash", {"command": "echo 1; echo 2"}), Call("read", {"path": "missing"}), Call("nothing"))
    first = Turn("Let me see.", thinking="Hm.", calls=calls, chunks=3)
    stage = play(Script().otherwise([Attempts(Fail(500, "once"), first), Say("Done \u2028 \U0001f375.")]))
    result = await stage.run()
    assert (result.output, result.tool_count) == ("Done \u2028 \U0001f375.", 3)
    journal = list(read_journal(result.run_dir / JOURNAL_FILE))
    assert [event for event in journal if isinstance(event, ev.Unknown | ev.Output | ev.Dropped | ev.Repaired)] == []
    kinds = {ev.Started, ev.AgentSettled, ev.RetryStarted, ev.ToolStarted, ev.ToolEnded, ev.Exited, ev.Ended}
    assert kinds <= set(map(type, journal))
    state = fold(RunState(), journal)
    assert (state.final_text, state.prompt) == (result.output, "Go.")
    assert json.loads((result.run_dir / "result.json").read_bytes()) == json.loads(json.dumps(result_document(state)))
    messages = [event for event in journal if isinstance(event, ev.Message)]
    assert [m.is_error for m in messages if m.role == "toolResult"] == [False, True, True]
    assert any(isinstance(part, ev.ThinkingPart) and part.text == "Hm." for m in messages for part in m.parts)


async def test_pis_own_conversation_is_kept_with_the_run_and_the_users_agent_directory_stays_as_it_was(
    play: Play,
) -> None:
    stage = play(Script().otherwise([Say("Done.")]))
    (stage.agent_dir / "auth.json").write_text('{"other": {"type": "api_key", "key": "sk-other-key"}}')
    stage.write_skill("tea", "Boil water.")
    stage.write_profile("keyed", "apiKey: sk-profile-key-12345")
    before = {path: path.read_bytes() for path in files_below(stage.agent_dir)}
    results = await stage.delegate(Task("a", "One"), Task("b", "Two", profile="keyed"))
    assert all(result.ok for result in results)
    entries = (results[0].run_dir / "child-session.jsonl").read_text().splitlines()
    assert json.loads(entries[0])["type"] == "session"
    assert any("One" in entry for entry in entries)
    assert not (Path.home() / ".pi").exists()
    after = {path: path.read_bytes() for path in files_below(stage.agent_dir)}
    assert {path: after.get(path) for path in before} == before
    added = {path.relative_to(stage.agent_dir).parts[0] for path in after.keys() - before.keys()}
    assert added <= {"subagents", "models-store.json"}  # the second is pi's own list of models; there are no sessions
