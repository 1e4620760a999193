"""`agents --programs`: which agents are installed, in which version and with what login, and what each can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec

from pi_subagents.delegation.program_facts import program_version
from pi_subagents.errors import AgentNotFound
from pi_subagents.harness import AGENTS, DEFAULT_AGENT, Harness, Program, Version
from pi_subagents.harness.agent import Agent
from pi_subagents.harness.capabilities import CAPABILITIES, Capability
from pi_subagents.harness.pi.programs import LOGIN, child_path
from pi_subagents.harness.programs import PACKAGES, how_to_log_in, is_named
from pi_subagents.harness.table import harness_for_agent
from pi_subagents.paths import find_program
from pi_subagents.place import Place
from pi_subagents.processes.install import PINNED_PI_VERSION
from pi_subagents.settings import Settings
from pi_subagents.surfaces.cli.output import echo, print_json
from pi_subagents.surfaces.cli.tables import Column, console_for_output, drawn

_NONE = "–"
_ANY = "acp"
"""Any program that a profile names, so there is none to look for."""


_MEANINGS = "What the rows mean: see docs/reference/agents.md, or use a wider terminal."


class AgentHere(msgspec.Struct, frozen=True):
    """An agent as found on this machine; `program` is None if it is not installed, or if there is a `problem`."""

    name: str
    harness: Harness
    program: Program | None
    version: Version | None
    credentials: str | None
    problem: str | None = None
    """Why the program that the user named cannot be used."""

    @property
    def tested(self) -> str | None:
        """The version that our tests use."""
        if self.name == DEFAULT_AGENT:
            return PINNED_PI_VERSION
        return PACKAGES[self.name].tested if self.name in PACKAGES else None

    @property
    def log_in(self) -> str:
        """How to log in; empty if that is not needed."""
        if self.program is None or self.credentials is not None:
            return ""
        if not isinstance(self.harness, Agent):
            return f"{LOGIN}, or set the key of a provider"
        return how_to_log_in(self.program, self.name, self.harness.log_in)

    @property
    def shown_version(self) -> str | None:
        """Such as `2.1.325`."""
        return ".".join(map(str, self.version)) if self.version else None

    def to_json(self) -> dict[str, Any]:
        """The row for `--json`."""
        return {
            "agent": self.name,
            "program": list(self.program.argv) if self.program else None,
            "foundIn": self.program.found_in if self.program else None,
            "version": self.shown_version,
            "testedVersion": self.tested,
            "problem": self.problem,
            "credentials": self.credentials,
            "can": {capability.name: capability.is_had_by(self.harness) for capability in CAPABILITIES},
        }


def print_programs(place: Place, *, as_json: bool) -> None:
    """Print all agents. Their programs are asked for their versions in parallel, at most once a day."""
    found = agents_here(place)
    if as_json:
        print_json([agent.to_json() for agent in found])
        return
    _print_tables(found)
    for agent in found:
        if agent.problem:
            echo(f"warning: {agent.problem}", err=True)
    for hint in _hints(found):
        echo(f"hint: {hint}", err=True)


def agents_here(place: Place) -> list[AgentHere]:
    """Every agent, installed or not."""
    look = partial(_look, place=place, settings=place.settings())
    with ThreadPoolExecutor(max_workers=len(AGENTS)) as pool:
        return list(pool.map(look, AGENTS))


def _look(name: str, place: Place, settings: Settings) -> AgentHere:
    harness = harness_for_agent(name, settings.harness_name)
    try:
        program = harness.find_program(place, settings)
    except AgentNotFound as error:
        problem = str(error) if is_named(name, place.environ) else None
        return AgentHere(name, harness, None, None, None, problem)
    problem = f"The {program.found_in} names {program.argv[0]}, which is not a program"
    if find_program(program.argv[0], child_path(place.environ)) is None:
        return AgentHere(name, harness, None, None, None, problem)
    version = program_version(harness.version_question(program, place), place)
    return AgentHere(name, harness, program, version, harness.credentials(place))


def _print_tables(found: Sequence[AgentHere]) -> None:
    columns: list[Column[AgentHere]] = [
        Column("agent", lambda agent: agent.name, colour=lambda agent: "bold" if agent.program else ""),
        Column("version", lambda agent: agent.shown_version or _NONE),
        Column("tested", lambda agent: agent.tested or _NONE),
        Column("credentials", lambda agent: agent.credentials or _NONE),
        Column("found", lambda agent: agent.program.found_in if agent.program else _absence(agent), may_wrap=True),
    ]
    abilities: list[Column[Capability]] = [Column("can", lambda capability: capability.name)]
    abilities += [Column(agent.name, partial(_mark, agent=agent), colour=_colour_for(agent)) for agent in found]
    console = console_for_output()
    console.print(drawn(columns, [agent for agent in found if agent.program or agent.name != _ANY]))
    console.print()
    meaning: Column[Capability] = Column("", lambda capability: capability.meaning)
    has_room = sum(column.width(CAPABILITIES) for column in (*abilities, meaning)) <= console.width
    console.print(drawn([*abilities, meaning] if has_room else abilities, CAPABILITIES))
    if not has_room:
        console.print(_MEANINGS, style="dim", highlight=False)
    console.print()


def _absence(agent: AgentHere) -> str:
    return "cannot be used" if agent.problem else "not installed"


def _mark(capability: Capability, agent: AgentHere) -> str:
    return "✓" if capability.is_had_by(agent.harness) else _NONE


def _colour_for(agent: AgentHere) -> Any:
    return lambda capability: "green" if capability.is_had_by(agent.harness) else "dim"


def _hints(found: Sequence[AgentHere]) -> Iterator[str]:
    for agent in found:
        if agent.log_in:
            yield f"{agent.name}: to log in: {agent.log_in}"
    if missing := [agent.name for agent in found if not (agent.program or agent.problem) and agent.name in PACKAGES]:
        yield f"to install one: pi-subagents install-agent {missing[0]}"
