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
from pi_subagents.store import RunRecord, load_run, publish
from pi_subagents.tools import ToolResult
from tests.kit.workplace import Workplace

SESSION = "a1b2c3d4e5f6a7b8"


class Desk(Workplace):
    """A project without an agent program: whatever would start one fails to."""

    def usual_environ(self) -> dict[str, str]:
        return {**super().usual_environ(), "PI_SUBAGENTS_PI": "/nowhere/pi"}

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        return asyncio.run(self.tool(tool, **arguments))

    def text(self, tool: str, **arguments: Any) -> str:
        return self.call(tool, **arguments).text

    def delegate(self, **task: Any) -> ToolResult:
        return self.call("delegate_to_subagents", tasks=[{"name": "t", "prompt": "Go.", **task}])

    def error(self, **task: Any) -> str:
        """What a task that failed alone says."""
        (window,) = self.delegate(**task).details["windows"]
        assert window["status"] == "error"
        return str(window["errorMessage"])

    def refusal(self, *fields: str, **task: Any) -> str:
        """What a call that was refused as a whole says; with fields, because of a profile that has them."""
        if fields:
            self.profile(*fields)
            task["profile"] = "name"
        answer = self.delegate(**task)
        assert answer.is_error
        assert not self.runs.exists() or "resume" in task
        return answer.text

    def profile(self, *fields: str, name: str = "name") -> Desk:
        self.write_profile(name, *fields)
        return self

    def preset(self, name: str) -> Desk:
        self.write_preset(name)
        return self

    def preset_error(self, preset: str) -> str:
        """What a run of a preset that failed says."""
        (row,) = self.call("subagent", task="Go.", preset=preset).details["runs"]
        assert row["status"] == "failed"
        return str(row["error"])

    def skill(self, name: str) -> Desk:
        self.write(str(self.agent_dir / "skills" / name / "SKILL.md"), f"---\nname: {name}\ndescription: It.\n---\n")
        return self

    def record(self) -> RunRecord:
        """A run that somebody holds."""
        created = Created(run_id="r", session_id=SESSION, name="t", prompt="p", cwd="/", harness="pi-json")
        return publish(self.runs / f"20260101T000000000-{SESSION}", {}, created)

    def files(self, path: str, content: bytes | None = None) -> str:
        if content is not None:
            (self.project / path).write_bytes(content)
        return compose_prompt("Go.", [path], self.project).split("\n")[0]


def resume_of_a_running_session(desk: Desk) -> str:
    record = desk.record()
    try:
        return desk.refusal(resume=SESSION)
    finally:
        record.close()


def end_of_a_run_whose_holder_died(desk: Desk) -> str:
    record = desk.record()
    record.close()
    return str(load_run(record.path).error)


def output_of_an_agent_that_said_nothing(desk: Desk) -> str:
    record = desk.record()
    record.append([Ended(status=Status.FAILED, reason=Reason.SPAWN, message="x")])
    record.close()
    return desk.text("get_subagent_output", sessionId=SESSION)


EXPIRED = f'session "{SESSION}" not found. The session may have expired or the ID is incorrect.'
UNSAFE = ("| ls", "& rm", "; echo", "&& rm", "|| exit", "; ls", "> file", ">> file", "< file", "`whoami`", "$HOME")

TABLE: list[tuple[str, Callable[[Desk], str]]] = [
    (f"S{EXPIRED[1:]}", lambda desk: desk.text("get_subagent_output", sessionId=SESSION)),
    (f"S{EXPIRED[1:]}", lambda desk: desk.text("get_subagent_session", sessionId=SESSION)),
    (
        f'Cannot resume: session "{SESSION}" is still running. Wait for it to complete before resuming.',
        resume_of_a_running_session,
    ),
    (f"Cannot resume: {EXPIRED}", lambda desk: desk.refusal(resume=SESSION)),
    ("Session was interrupted (main agent session ended unexpectedly)", end_of_a_run_whose_holder_died),
    ("(no text output from sub-agent)", output_of_an_agent_that_said_nothing),
    (
        'Unknown profile: "code-reviewer". Available profiles: researcher, writer',
        lambda desk: desk.profile(name="writer").profile(name="researcher").error(profile="code-reviewer"),
    ),
    (
        'Unknown profile: "code-reviewer". Available profiles: (none)',
        lambda desk: desk.error(profile="code-reviewer"),
    ),
    (
        'Unknown preset: "x". Available presets: scout, writer',
        lambda desk: desk.preset("writer").preset("scout").preset_error("x"),
    ),
    ('Unknown preset: "x". Available presets: (none)', lambda desk: desk.preset_error("x")),
    (
        'No model resolved for preset "scout". Pass "model" in the call, or add a line "model: provider/id" to the '
        "preset. On the command line: --model.",
        lambda desk: desk.preset("scout").preset_error("scout"),
    ),
    (
        'There is no "chain": call subagent again and put the result into the next task.',
        lambda desk: desk.text("subagent", chain=[{"preset": "scout", "task": "Go."}]),
    ),
    ("Failed to spawn sub-agent process", lambda desk: desk.error()),
    ("Timed out after 300s. Consider resuming with a longer timeout.", lambda _desk: timeout_sentence(300)),
    ("Loop detected: sub-agent is repeating the same tool calls", lambda _desk: LOOP_SENTENCE),
    ("cwd must be an absolute path", lambda desk: desk.error(cwd="src")),
    ("cwd must not contain '..' path segments", lambda desk: desk.error(cwd=f"{desk.project}/../project")),
    ("cwd does not exist: /nowhere/at/all", lambda desk: desk.error(cwd="/nowhere/at/all")),
    (
        'Unknown skills: "bad-name". Available skills: skill-a, skill-b',
        lambda desk: desk.skill("skill-b").skill("skill-a").profile("suggestedSkills: bad-name").error(profile="name"),
    ),
    (
        'Unknown skills: "bad-name". Available skills: (none)',
        lambda desk: desk.profile("loadSkills: bad-name").error(profile="name"),
    ),
    (
        'Profile "name" has both "suggestedSkills" and "noSkills" set. '
        "These are mutually exclusive — --no-skills would override --skill flags.",
        lambda desk: desk.refusal("suggestedSkills: a", "noSkills: true"),
    ),
    (
        'Profile "name" has both "loadSkills" and "noSkills" set. '
        "These are mutually exclusive — --no-skills disables skill discovery.",
        lambda desk: desk.refusal("loadSkills: a", "noSkills: true"),
    ),
    ("[file not found: gone.txt]", lambda desk: desk.files("gone.txt")),
    ("[could not read file: odd.bin]", lambda desk: desk.files("odd.bin", b"\xff\xfe")),
    ("[file too large: big.txt (2048KB, limit 1024KB)]", lambda desk: desk.files("big.txt", b"x" * 2 * 1024 * 1024)),
    (
        'Refusing extraArg "--tools=read" which would override profile tool restrictions. '
        "Use the dedicated profile fields instead.",
        lambda desk: desk.refusal("excludeTools: bash", "extraArgs: [--tools=read]"),
    ),
    ("Invalid extraArg: contains null byte", lambda desk: desk.refusal(r'extraArgs: ["test\0arg"]')),
    *(
        (
            f"Refusing extraArg: potentially unsafe argument '{argument}...'",
            lambda desk, argument=argument: desk.refusal(f"extraArgs: ['{argument}']"),
        )
        for argument in UNSAFE
    ),
    (
        "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.",
        lambda desk: desk.text("list_subagent_profiles"),
    ),
]


@pytest.mark.parametrize(("sentence", "produce"), TABLE, ids=[text for text, _produce in TABLE])
def test_the_documented_sentence_is_said(tmp_path: Path, sentence: str, produce: Callable[[Desk], str]) -> None:
    assert produce(Desk(tmp_path)) == sentence
