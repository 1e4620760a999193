"""What an agent knows: its own conversation when it is resumed, its instructions, and nothing of other tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi_subagents.conformance.stage import Stage, expect
from pi_subagents.harness.capabilities import fields_taken
from pi_subagents.offline import Say, Turn, Usage
from pi_subagents.profiles.fields import FIELDS


async def resume(stage: Stage) -> None:
    """A conversation continues after its records were moved, and only new tokens are counted"""
    work = stage.root / "work"
    work.mkdir()
    steps = [Turn("I keep 4711.", usage=Usage(1000, 50)), Turn("It was 4711.", usage=Usage(2000, 70))]
    first = (await stage.run("Remember 4711.", *steps, resumeMode="native", cwd=work)).completed("I keep 4711.")
    stage.project = stage.project.rename(stage.root / "moved")
    second = await stage.run("What was it?", *steps, resumeMode="native", cwd=work, resume=first.run.session_id)
    second.completed("It was 4711.")
    expect(second.state.beginning == "resumed", f"the second run is {second.state.beginning}, not resumed")
    expect(second.asked, "the model was not asked")
    said = [str(message.get("content")) for message in second.asked[0].messages if message["role"] == "assistant"]
    expect(any("I keep 4711." in text for text in said), f"the earlier answers that the model got are {said}")
    used = second.state.usage
    expect((used.input, used.output) == (2000, 70), f"input and output are {used.input} and {used.output}")


_INSTRUCTIONS = {"systemPrompt": "You are Bob the 4711th.", "appendSystemPrompt": "Never mention elms."}
_TOOLS: Mapping[str, Any] = {"tools": ["read"], "excludeTools": ["bash"], "noTools": True}


async def instructions(stage: Stage) -> None:
    """Instructions and tools reach the model as the profile sets them"""
    attributes = {field.key: field.attribute for field in FIELDS} | {"systemPrompt": "system_prompt"}
    taken = {key for key, attribute in attributes.items() if attribute in fields_taken(stage.harness)}
    told = {key: text for key, text in _INSTRUCTIONS.items() if key in taken}
    lists = [key for key in _TOOLS if key in taken]
    for restriction in [{key: _TOOLS[key]} for key in lists] or [{}]:
        asked = (await stage.run("Go.", Say("Aye."), **told, **restriction)).completed("Aye.").request
        for key, text in told.items():
            expect(text in str(asked.body), f"the model did not get {key}")
        for key in restriction:
            _expect_tools(stage, key, asked.tools)
    for key in (key for key in lists if key != "noTools"):
        refusal = await stage.refusal(**{key: ["raed"]})
        expect("raed" in refusal, f"an unknown tool in {key} is refused with {refusal!r}")
    lacking = {key: value for key, value in {**_INSTRUCTIONS, **_TOOLS}.items() if key not in taken}
    for key, value in lacking.items():
        expect(await stage.refusal(**{key: value}), f"{key} is neither supported nor refused")
    expect(not lacking, f"it does not support {', '.join(lacking)}")


def _expect_tools(stage: Stage, key: str, offered: Sequence[str]) -> None:
    """Expect the model to be offered the tools that this field asks for."""
    read, bash = (stage.agent.own_names.get(name, name) for name in ("read", "bash"))
    expect(bash not in offered, f"with {key}, the shell is still among the tools {offered}")
    expect((read in offered) is (key != "noTools"), f"with {key}, the tools are {offered}")


async def forgetting(stage: Stage) -> None:
    """The next task knows nothing of the one before"""
    prompts = ["The secret word is quince.", "Which words do you know?"]
    async with stage.start(prompts, Say("Noted.")) as running:
        first, second = await running.outcomes()
    first.completed("Noted.")
    second.completed("Noted.")
    kept = stage.harness.can_be_kept
    expect(second.state.reused is kept, f"its processes are {'' if kept else 'not '}kept, but reused: {not kept}")
    last = running.asked[-1]
    expect("Which words" in last.last_user_text, f"the last request is {last.last_user_text[-100:]!r}")
    expect("quince" not in str(last.body), "the second conversation knows the first")
