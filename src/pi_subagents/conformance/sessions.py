"""What an agent knows: its own conversation when it is resumed, its instructions, and nothing of other tasks."""

from __future__ import annotations

from pi_subagents.conformance.stage import Stage, expect
from pi_subagents.offline import Say, Turn, Usage


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


async def instructions(stage: Stage) -> None:
    """Instructions and tools reach the model as the profile sets them"""
    names = stage.agent.own_names
    run = await stage.run("Go.", Say("Aye."), systemPrompt="You are Bob the 4711th.", tools=["read"])
    asked = run.completed("Aye.").request
    expect("You are Bob the 4711th." in asked.system_text, "the model did not get the system prompt")
    expect(names.get("read", "read") in asked.tools, f"reading is not among the tools {asked.tools}")
    expect(names.get("bash", "bash") not in asked.tools, f"the shell is still among the tools {asked.tools}")
    refusal = await stage.refusal(tools=["raed"])
    expect("raed" in refusal, f"an unknown tool name is refused with {refusal!r}")


async def forgetting(stage: Stage) -> None:
    """The next task knows nothing of the one before, even in the same process"""
    prompts = ["The secret word is quince.", "Which words do you know?"]
    async with stage.start(prompts, Say("Noted.")) as running:
        for outcome in await running.outcomes():
            outcome.completed("Noted.")
    last = running.asked[-1]
    expect("Which words" in last.last_user_text, f"the last request is {last.last_user_text[-100:]!r}")
    expect("quince" not in str(last.body), "the second conversation knows the first")
