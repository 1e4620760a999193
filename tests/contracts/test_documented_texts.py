"""Every sentence that the documents promise, to the letter, one test each.

`tools-reference.md` §2, §3, §5 and §6, `profiles.md` §8, and rulings 1 and 7. The sentences are those of the documents;
beside each stands a way to bring it about. What needs a real agent (a timeout, a loop) is in `tests/pi` as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.delegation.prompts import compose_prompt
from pi_subagents.models.event import Created, Ended
from pi_subagents.models.run import Reason, Status
from pi_subagents.outcome import LOOP_SENTENCE, timeout_sentence
from pi_subagents.paths import runs_dir
from pi_subagents.place import Place
from pi_subagents.store import RunRecord, load_run, publish
from pi_subagents.tools import ToolContext, ToolResult, call_tool
from pi_subagents.trust import Decisions

SESSION = "a1b2c3d4e5f6a7b8"


class Desk:
    """A project without an agent program: whatever would start one fails to."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.agent_dir = root / "agent"
        (self.project / ".pi").mkdir(parents=True)
        Decisions(self.agent_dir).trust(self.project)

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        environ = {"PATH": "/usr/bin:/bin", "PI_AGENT_DIR": str(self.agent_dir), "PI_SUBAGENTS_PI": "/nowhere/pi"}
        return asyncio.run(call_tool(tool, arguments, ToolContext(Place.here(self.project, environ))))

    def delegate(self, **task: Any) -> ToolResult:
        return self.call("delegate_to_subagents", tasks=[{"name": "t", "prompt": "Go.", **task}])

    def error(self, **task: Any) -> str:
        """What a task that failed alone says."""
        (window,) = self.delegate(**task).details["windows"]
        assert window["status"] == "error"
        return str(window["errorMessage"])

    def refusal(self, **task: Any) -> str:
        """What a call that was refused as a whole says."""
        answer = self.delegate(**task)
        assert answer.is_error
        assert not runs_dir(self.project).exists() or "resume" in task
        return answer.text

    def profile(self, *lines: str, name: str = "name") -> Desk:
        path = self.project / ".pi" / "agent-profiles" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(["---", f"name: {name}", *lines, "---"]))
        return self

    def preset(self, name: str) -> Desk:
        path = self.project / ".pi" / "subagents" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: About it.\n---\n")
        return self

    def preset_error(self, **call: Any) -> str:
        """What a run of a preset that failed says."""
        (row,) = self.call("subagent", task="Go.", **call).details["runs"]
        assert row["status"] == "failed"
        return str(row["error"])

    def skill(self, name: str) -> Desk:
        path = self.agent_dir / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: {name}\ndescription: About it.\n---\n")
        return self

    def record(self) -> RunRecord:
        """A run that somebody holds."""
        created = Created(run_id="r", session_id=SESSION, name="t", prompt="p", cwd="/", harness="pi-json")
        return publish(runs_dir(self.project) / f"20260101T000000000-{SESSION}", {}, created)

    def files(self, path: str) -> str:
        return compose_prompt("Go.", [path], self.project).split("\n")[0]


Produce = Callable[[Desk], str]
Row = tuple[str, Produce]
TABLE: list[Row] = []


def documented(sentence: str) -> Callable[[Produce], Produce]:
    """Put a function into the table, beside the sentence that it must bring about."""

    def add(produce: Produce) -> Produce:
        TABLE.append((sentence, produce))
        return produce

    return add


NOT_FOUND = f'Session "{SESSION}" not found. The session may have expired or the ID is incorrect.'


@documented(NOT_FOUND)
def output_of_no_session(desk: Desk) -> str:
    return desk.call("get_subagent_output", sessionId=SESSION).text


@documented(NOT_FOUND)
def transcript_of_no_session(desk: Desk) -> str:
    return desk.call("get_subagent_session", sessionId=SESSION).text


@documented(f'Cannot resume: session "{SESSION}" is still running. Wait for it to complete before resuming.')
def resume_of_a_running_session(desk: Desk) -> str:
    record = desk.record()
    try:
        return desk.refusal(resume=SESSION)
    finally:
        record.close()


@documented(f'Cannot resume: session "{SESSION}" not found. The session may have expired or the ID is incorrect.')
def resume_of_no_session(desk: Desk) -> str:
    return desk.refusal(resume=SESSION)


@documented("Session was interrupted (main agent session ended unexpectedly)")
def end_of_a_run_whose_holder_died(desk: Desk) -> str:
    record = desk.record()
    record.close()
    return str(load_run(record.path).error)


@documented("(no text output from sub-agent)")
def output_of_an_agent_that_said_nothing(desk: Desk) -> str:
    record = desk.record()
    record.append([Ended(status=Status.FAILED, reason=Reason.SPAWN, message="x")])
    record.close()
    return desk.call("get_subagent_output", sessionId=SESSION).text


@documented('Unknown profile: "code-reviewer". Available profiles: researcher, writer')
def unknown_profile(desk: Desk) -> str:
    return desk.profile(name="writer").profile(name="researcher").error(profile="code-reviewer")


@documented('Unknown profile: "code-reviewer". Available profiles: (none)')
def unknown_profile_where_there_is_none(desk: Desk) -> str:
    return desk.error(profile="code-reviewer")


@documented('Unknown preset: "x". Available presets: scout, writer')
def unknown_preset(desk: Desk) -> str:
    return desk.preset("writer").preset("scout").preset_error(preset="x")


@documented('Unknown preset: "x". Available presets: (none)')
def unknown_preset_where_there_is_none(desk: Desk) -> str:
    return desk.preset_error(preset="x")


@documented(
    'No model resolved for preset "scout". Pass "model" in the call, or add a line "model: provider/id" to the preset. '
    "On the command line: --model."
)
def preset_without_a_model(desk: Desk) -> str:
    return desk.preset("scout").preset_error(preset="scout")


@documented('There is no "chain": call subagent again and put the result into the next task.')
def chain(desk: Desk) -> str:
    return desk.call("subagent", chain=[{"preset": "scout", "task": "Go."}]).text


@documented("Failed to spawn sub-agent process")
def no_agent_program(desk: Desk) -> str:
    return desk.error()


@documented("Timed out after 300s. Consider resuming with a longer timeout.")
def timeout(_desk: Desk) -> str:
    return timeout_sentence(300)


@documented("Loop detected: sub-agent is repeating the same tool calls")
def loop(_desk: Desk) -> str:
    return LOOP_SENTENCE


@documented("cwd must be an absolute path")
def relative_directory(desk: Desk) -> str:
    return desk.error(cwd="src")


@documented("cwd must not contain '..' path segments")
def directory_with_a_way_up(desk: Desk) -> str:
    return desk.error(cwd=f"{desk.project}/../project")


@documented("cwd does not exist: /nowhere/at/all")
def missing_directory(desk: Desk) -> str:
    return desk.error(cwd="/nowhere/at/all")


@documented('Unknown skills: "bad-name". Available skills: skill-a, skill-b')
def unknown_suggested_skill(desk: Desk) -> str:
    return desk.skill("skill-b").skill("skill-a").profile("suggestedSkills: bad-name").error(profile="name")


@documented('Unknown skills: "bad-name". Available skills: (none)')
def unknown_loaded_skill(desk: Desk) -> str:
    return desk.profile("loadSkills: bad-name").error(profile="name")


@documented(
    'Profile "name" has both "suggestedSkills" and "noSkills" set. '
    "These are mutually exclusive — --no-skills would override --skill flags."
)
def suggested_skills_that_are_forbidden(desk: Desk) -> str:
    return desk.profile("suggestedSkills: a", "noSkills: true").refusal(profile="name")


@documented(
    'Profile "name" has both "loadSkills" and "noSkills" set. '
    "These are mutually exclusive — --no-skills disables skill discovery."
)
def loaded_skills_that_are_forbidden(desk: Desk) -> str:
    return desk.profile("loadSkills: a", "noSkills: true").refusal(profile="name")


@documented("[file not found: gone.txt]")
def missing_file(desk: Desk) -> str:
    return desk.files("gone.txt")


@documented("[could not read file: odd.bin]")
def unreadable_file(desk: Desk) -> str:
    (desk.project / "odd.bin").write_bytes(b"\xff\xfe")
    return desk.files("odd.bin")


@documented("[file too large: big.txt (2048KB, limit 1024KB)]")
def large_file(desk: Desk) -> str:
    (desk.project / "big.txt").write_bytes(b"x" * 2 * 1024 * 1024)
    return desk.files("big.txt")


@documented(
    'Refusing extraArg "--tools=read" which would override profile tool restrictions. '
    "Use the dedicated profile fields instead."
)
def argument_that_lifts_a_restriction(desk: Desk) -> str:
    return desk.profile("excludeTools: bash", "extraArgs: [--tools=read]").refusal(profile="name")


@documented("Invalid extraArg: contains null byte")
def argument_with_a_null_byte(desk: Desk) -> str:
    return desk.profile(r'extraArgs: ["test\0arg"]').refusal(profile="name")


def _refused(argument: str) -> Row:
    sentence = f"Refusing extraArg: potentially unsafe argument '{argument}...'"
    return sentence, lambda desk: desk.profile(f"extraArgs: ['{argument}']").refusal(profile="name")


UNSAFE = ("| ls", "& rm", "; echo", "&& rm", "|| exit", "; ls", "> file", ">> file", "< file", "`whoami`", "$HOME")
TABLE += map(_refused, UNSAFE)


@documented("No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.")
def no_profiles(desk: Desk) -> str:
    return desk.call("list_subagent_profiles").text


@pytest.mark.parametrize(("sentence", "produce"), TABLE, ids=[text for text, _produce in TABLE])
def test_the_documented_sentence_is_said(tmp_path: Path, sentence: str, produce: Produce) -> None:
    assert produce(Desk(tmp_path)) == sentence
