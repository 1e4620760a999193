"""docs/reference/agents.md: the agents and what each can do, as their harnesses declare it."""

from __future__ import annotations

from collections.abc import Iterable

from pi_subagents.conformance import EXCEPTIONS, STORIES, TESTED
from pi_subagents.harness import AGENTS, DEFAULT_AGENT, DEFAULT_HARNESS, Harness
from pi_subagents.harness.agent import Agent
from pi_subagents.harness.capabilities import CAPABILITIES, fields_taken
from pi_subagents.harness.programs import PACKAGES, variable_of
from pi_subagents.harness.table import agent_of, harness_for_agent
from pi_subagents.processes.install import PI_PACKAGE, PINNED_PI_VERSION
from pi_subagents.profiles.fields import FIELDS
from scripts.reference.markdown import join, table

_HEAD = """
# Agents

The programs that do the work: `agent` in a profile or task names one, and so does `run --agent`. The default is `pi`.
[Other agents](../guides/other-agents.md) explains how to use them.
"""

_ACP = """
`acp` is any agent that speaks the Agent Client Protocol: name its command line as `program` in a profile.

The program of an agent other than `pi` is looked for in four places, in this order: `program` in the profile, the
variable, the PATH, and the directory of `install-agent`. If what the profile or the variable names cannot be started,
nothing else is tried.
"""

_CAN = """
## What each can do

`pi-subagents agents --programs` shows this table, too.
"""

_FIELDS = """
## Fields of a profile

A profile that sets a field its agent does not support is refused before anything starts. The body of a profile needs
`system prompt` above, that of a preset `added prompt`. Tools go by our names (`bash`, `read`, `edit`, `write`, `grep`,
`find`, `ls`) or the agent's own.
"""

_TESTED = """
## What was tested

The real program of each agent goes through thirty stories with a scripted model. ✓ is a story that holds, `-` a known
exception, with the number of its reason below the table. `pi-subagents conformance --agent NAME` runs the same stories
on your machine, with any version of the program. `acp` has no program of its own: it is tested as the agents that
speak it.
"""
_FOR_US = ("name", "description", "harness", "agent", "resume_mode")

_LOGINS = {DEFAULT_AGENT: "run `pi-subagents pi` and type `/login`"}


def agents_page() -> str:
    """The page."""
    harnesses = {name: harness_for_agent(name, DEFAULT_HARNESS) for name in AGENTS}
    names = [f"`{name}`" for name in harnesses]
    can = [
        (f"**{capability.name}**: {capability.meaning}", *_marks(map(capability.is_had_by, harnesses.values())))
        for capability in CAPABILITIES
    ]
    fields = [
        (f"`{field.key}`", *_marks(field.attribute in taken for taken in map(fields_taken, harnesses.values())))
        for field in FIELDS
        if field.attribute not in _FOR_US
    ]
    return join(
        _HEAD,
        table(("agent", "from npm", "tested with", "to log in", "variable"), map(_row, harnesses.items())),
        _ACP,
        _CAN,
        table(("", *names), can),
        _FIELDS,
        table(("field", *names), fields),
        _TESTED,
        table(("", *(f"`{agent_of(name)}`" for name in TESTED)), _stories()),
        "\n".join(_exceptions()),
    )


def _stories() -> Iterable[tuple[str, ...]]:
    """Which story holds with which agent; the last row counts them."""
    reasons = _numbered_reasons()
    for story in STORIES:
        known = (EXCEPTIONS[name].get(story.number) for name in TESTED)
        yield f"{story.number}. {story.title}", *("✓" if one is None else f"- {reasons[one.reason]}" for one in known)
    yield "**hold**", *(f"**{len(STORIES) - len(EXCEPTIONS[name])}**" for name in TESTED)


def _exceptions() -> Iterable[str]:
    return (f"{number}. {reason[0].upper()}{reason[1:]}." for reason, number in _numbered_reasons().items())


def _numbered_reasons() -> dict[str, int]:
    """Every reason once, in the order of the table."""
    found = [EXCEPTIONS[name].get(story.number) for story in STORIES for name in TESTED]
    return {reason: number for number, reason in enumerate(dict.fromkeys(one.reason for one in found if one), start=1)}


def _row(agent: tuple[str, Harness]) -> tuple[str, ...]:
    name, harness = agent
    package = PACKAGES.get(name)
    npm, tested = (package.npm, package.tested) if package else ("", "")
    if name == DEFAULT_AGENT:
        npm, tested = PI_PACKAGE, PINNED_PI_VERSION
    login = harness.log_in if isinstance(harness, Agent) and package else _LOGINS.get(name, "")
    return f"`{name}`", f"`{npm}`" if npm else "", tested, login, f"`{variable_of(name)}`"


def _marks(values: Iterable[bool]) -> list[str]:
    return ["✓" if value else "–" for value in values]
