"""What an agent says: its answer, its thinking, what it does if the model fails, and what it asks the model."""

from __future__ import annotations

from pi_subagents.conformance.stage import Stage, expect
from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.models.event import ThinkingPart
from pi_subagents.offline import Attempts, CutStream, Fail, Say, Turn, Usage

_LARGE = 900_000
_IN_TIME_S = 20
"""For failures where retrying does not help: nobody should have to wait long for the end."""
_TRIES = 20
"""More often than any agent tries again."""


async def plain_answer(stage: Stage) -> None:
    """A plain answer becomes the run's answer"""
    run = (await stage.run("Say hello to me.", Say("Hello there."))).completed("Hello there.")
    asked = run.request
    expect("Say hello to me." in asked.last_user_text, f"the model was asked {asked.last_user_text[-200:]!r}")
    expect(run.state.conversation, "the agent did not name its own conversation")


async def thinking_and_deltas(stage: Stage) -> None:
    """Thinking and text are streamed in pieces"""
    text = "One two three four five six seven eight."
    turn = Turn(text, thinking="Let me count that.", chunks=8, chunk_delay_s=0.3)
    run = (await stage.run("Count.", turn)).completed(text)
    pieces = [delta.text for delta in run.of(ev.Delta) if delta.kind == "text"]
    expect(len(pieces) > 1 and "".join(pieces) == text, f"the text came in the pieces {pieces}")
    thoughts = [part.text for message in run.of(ev.Message) for part in message.parts if isinstance(part, ThinkingPart)]
    letters = "".join(character for character in "".join(thoughts) if character.isalpha())
    expect("Letmecountthat" in letters, f"the thinking is {thoughts}")  # some agents change its layout


async def rate_limit(stage: Stage) -> None:
    """If the provider asks it to wait, the agent retries and says so"""
    busy = Attempts(Fail(429, "Slow down, please", retry_after_s=1), Say("Here I am."))
    run = (await stage.run("Go.", busy)).completed("Here I am.")
    expect(run.of(ev.RetryStarted), "no event said that the agent retried")


async def context_overflow(stage: Stage) -> None:
    """A prompt that is too long for the model fails the run with the provider's message"""
    sentence = "prompt is too long: 250001 tokens > 200000 maximum"
    run = (await stage.run("Go.", *[Fail(400, sentence)] * _TRIES, timeout_s=_IN_TIME_S)).failed()
    expect("too long" in (run.state.error or ""), f"the run failed with {run.state.error!r}")


async def bad_key(stage: Stage) -> None:
    """A key that the provider refuses fails the run promptly"""
    (await stage.run("Go.", Fail(401, "invalid x-api-key"), timeout_s=_IN_TIME_S)).failed(Reason.AGENT_ERROR)


async def cut_stream(stage: Stage) -> None:
    """If an answer is cut off and then comes whole, only the whole one counts"""
    flaky = Attempts(CutStream("Half of an ans"), Say("A whole answer."))
    run = (await stage.run("Go.", flaky)).completed("A whole answer.")
    said = [message.text for message in run.of(ev.Message) if message.role == "assistant" and not message.error_message]
    expect([text for text in said if text] == ["A whole answer."], f"the messages are {said}")


async def empty_answer(stage: Stage) -> None:
    """An agent that says nothing has failed; one that worked without an answer is said to have given none"""
    silent = [Turn("")] * _TRIES
    (await stage.run("Go.", *silent)).failed(Reason.AGENT_ERROR)
    run = await stage.run("Go.", stage.agent.tools.bash("echo one"), *silent)
    expect(run.state.reason is Reason.NO_ANSWER, f"the run that only called a tool is {run.end}")


async def usage(stage: Stage) -> None:
    """Token counts are those of the model"""
    steps = [
        Turn(calls=(stage.agent.tools.bash("echo one"),), usage=Usage(1000, 50, cached_tokens=200)),
        Turn("Done.", usage=Usage(2000, 70, cached_tokens=900)),
    ]
    used = (await stage.run("Go.", *steps)).completed("Done.").state.usage
    told = (used.input + used.cache_read + used.cache_write, used.cache_read, used.output)
    expect(told == (3000, 1100, 120), f"input, cached and output are {told}, not (3000, 1100, 120)")


async def large_prompt(stage: Stage) -> None:
    """A prompt of 900 kB reaches the model whole"""
    prompt = f"BEGIN {'lorem ipsum ' * (_LARGE // 12)} END"
    asked = (await stage.run(prompt, Say("Read."))).completed("Read.").request
    said = asked.last_user_text
    expect(prompt in said, f"the model got {len(said):,} characters of {len(prompt):,}")


async def odd_prompts(stage: Stage) -> None:
    """A prompt that begins with a slash, a dash or an at sign is still a prompt"""
    for prompt in ("/help me with this", "--version of what?", "@nobody is to look"):
        asked = (await stage.run(prompt, Say("Understood."))).completed("Understood.").request
        expect(prompt in asked.last_user_text, f"for {prompt!r} the model got {asked.last_user_text[-100:]!r}")
