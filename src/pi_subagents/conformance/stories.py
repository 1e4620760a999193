"""The numbered list of all stories; each is a function in one of the modules beside this one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pi_subagents.conformance import answers, control, privacy, sessions, tools
from pi_subagents.conformance.stage import Stage


@dataclass(frozen=True)
class Story:
    """A check: `tell` runs it, and raises `Broken` if the agent does not do what the title says."""

    number: int
    tell: Callable[[Stage], Awaitable[None]]

    @property
    def name(self) -> str:
        """A short name for tests and reports, such as `plain-answer`."""
        return getattr(self.tell, "__name__", "").replace("_", "-")

    @property
    def title(self) -> str:
        """What must hold, as a sentence: the function's docstring."""
        return (self.tell.__doc__ or "").strip()


STORIES = tuple(
    Story(number, tell)
    for number, tell in enumerate(
        (
            answers.plain_answer,
            tools.one_tool,
            tools.parallel_tools,
            tools.failing_tools,
            tools.unknown_tool,
            tools.edit,
            tools.new_file,
            tools.large_output,
            tools.slow_command,
            answers.thinking_and_deltas,
            answers.rate_limit,
            answers.context_overflow,
            answers.bad_key,
            answers.cut_stream,
            answers.empty_answer,
            control.cancel_in_tool,
            control.cancel_in_text,
            control.steer,
            control.denied,
            control.allowed,
            sessions.resume,
            answers.usage,
            tools.own_sub_agent,
            answers.large_prompt,
            answers.odd_prompts,
            sessions.instructions,
            privacy.no_settings,
            privacy.no_strangers,
            privacy.no_key_on_disk,
            sessions.forgetting,
        ),
        start=1,
    )
)
