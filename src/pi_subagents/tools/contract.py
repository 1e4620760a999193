"""What a tool is, for every surface that offers tools to a model: arguments, results, calls, and calls that wait."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.errors import InvalidCall
from pi_subagents.fold import RunState
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import Status, Task
from pi_subagents.models.event import Event
from pi_subagents.place import Place
from pi_subagents.progress import ProgressWords, Window, excerpt_segments
from pi_subagents.runners import Runner
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import Remembered, Sessions, nothing_remembered
from pi_subagents.text import Line, clean
from pi_subagents.text.wording import closest

T = TypeVar("T")

_IN_ORDER = ("type", "minLength", "minItems", "minimum", "maxItems", "maximum", "default", "description")
"""Limits before words; what structures a schema comes after these as it is."""

_AT = re.compile(r"^(?P<rule>.*?)(?: - at `\$\.?(?P<field>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")


def input_schema(shape: type) -> dict[str, Any]:
    """The JSON Schema of `shape`, kept short: every model that is offered the tool pays for it in every request.

    A field may be left out but is not said to be null, and a field that nothing fits is not told of.
    """
    (schema,), structs = msgspec.json.schema_components([shape], ref_template="{name}")
    return _brief(schema, structs)


def _brief(schema: Any, structs: Mapping[str, Any]) -> dict[str, Any]:
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return _brief(options[0], structs)
    if options:
        return {"anyOf": [_brief(option, structs) for option in options]}
    if "$ref" in schema:
        return _brief_object(structs[schema["$ref"]], structs)
    brief = {word: schema[word] for word in sorted(schema, key=_place)}
    return {**brief, "items": _brief(schema["items"], structs)} if "items" in schema else brief


def _brief_object(schema: Any, structs: Mapping[str, Any]) -> dict[str, Any]:
    fields = {name: field for name, field in schema["properties"].items() if "not" not in field}
    return {
        "type": "object",
        "properties": {name: _brief(field, structs) for name, field in fields.items()},
        **({"required": schema["required"]} if schema["required"] else {}),
        "additionalProperties": schema.get("additionalProperties", True),
    }


def _place(word: str) -> int:
    return _IN_ORDER.index(word) if word in _IN_ORDER else len(_IN_ORDER)


def check_arguments(arguments: object, shape: type[T]) -> T:
    """`arguments` as `shape`; raises InvalidCall with one sentence per call."""
    try:
        return msgspec.convert(arguments, shape)
    except msgspec.ValidationError as error:
        raise InvalidCall(_explain(str(error), shape)) from None


def _explain(message: str, shape: Any) -> str:
    match = _AT.match(message)
    assert match is not None
    rule, field = match["rule"], match["field"] or ""
    if missing := _MISSING.match(rule):
        return f"Invalid arguments: {_join(field, missing['name'])} is required"
    if unknown := _UNKNOWN.match(rule):
        elsewhere = [name for name in _names_in(msgspec.inspect.type_info(shape)) if name != unknown["name"]]
        meant = closest(unknown["name"], elsewhere)
        suffix = f'; did you mean "{meant}"?' if meant else ""
        return f"Invalid arguments: {_join(field, unknown['name'])} is not a known field{suffix}"
    rule = rule[:1].lower() + rule[1:]
    return f"Invalid arguments: {field or 'the arguments'}: {rule.replace('`', '')}"


def _join(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def _names_in(info: Any) -> list[str]:
    """Every field name of a struct and of the structs inside it, for hints."""
    if isinstance(info, msgspec.inspect.StructType):
        names = [field.encode_name for field in info.fields]
        return names + [name for field in info.fields for name in _names_in(field.type)]
    if isinstance(info, msgspec.inspect.UnionType):
        return [name for member in info.types for name in _names_in(member)]
    inner = getattr(info, "item_type", None)
    return [] if inner is None else _names_in(inner)


Details = dict[str, Any]

EXCERPT_LINES = 15


@dataclass(frozen=True)
class ToolResult:
    """What a model is told, and what a surface shows."""

    text: str
    details: Details = field(default_factory=dict)
    is_error: bool = False
    structured: Details | None = None
    """The same for the model of an MCP client, many of which show it nothing else."""
    windows: Sequence[Window] = ()
    """What the details tell of them, for a surface that paints windows itself."""

    def to_json(self) -> dict[str, Any]:
        """The result as MCP and `pi` write it."""
        return {"content": [{"type": "text", "text": self.text}], "details": self.details, "isError": self.is_error}


# --- progress ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spoken:
    """Something new, in a line of words."""

    line: str


@dataclass(frozen=True, slots=True)
class Update:
    """How the call stands, at most every 50 ms: the details, and the windows if it has any, as if it ended now."""

    details: Callable[[], Details]
    windows: Sequence[Window] = ()


@dataclass(frozen=True, slots=True)
class RunOver:
    """A run that the call waits for has ended."""

    state: RunState
    run_dir: Path


Progress = Spoken | Update | RunOver
OnProgress = Callable[[Progress], None]


# --- calls ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToolContext:
    """Where a call comes from and who wants to hear of its progress.

    A cancelled call raises CancelledError once its agents are gone, or with `answer_when_cancelled` says how each task
    ended. A host with a screen says in `columns` how wide that is at the moment.
    A host that makes many calls passes its `sessions`, which remember what was read, and its `runner`, which may keep
    agents for the next one; a host with a log of its own says in `remembered` which runs of a session that tells of,
    for those whose record is gone.
    """

    place: Place
    on_progress: OnProgress | None = None
    available_tools: Sequence[str] = BUILTIN_TOOLS
    columns: Callable[[], int | None] = lambda: None
    answer_when_cancelled: bool = False
    sessions: Sessions | None = None
    runner: Runner | None = None
    remembered: Remembered = nothing_remembered
    owner: str = "terminal"


# --- tools ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Detachable:
    """How a call that waits becomes background runs, for hosts that come back for the result."""

    kinds: tuple[str, ...]
    """What the ids of such calls begin with."""
    plan: Callable[[Any], tuple[str, list[Task], str | None]]
    """From the arguments: the kind, the tasks, and the profile of those that name none."""
    conclude: Callable[[str, Sequence[Run], ToolContext], ToolResult]
    """What the tool would have answered, had somebody waited."""


def _excerpt(result: ToolResult) -> list[Line]:
    return excerpt_segments(result.text, EXCERPT_LINES)


@dataclass(frozen=True)
class Tool:
    """One of the operations that a model can call, and all that surfaces need to know of it."""

    name: str
    label: str
    """Its name for people."""
    description: str
    arguments: type
    output_schema: Mapping[str, Any]
    """What the structured content of a result is."""
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]
    """Takes the checked arguments."""
    display: Callable[[ToolResult], list[Line]] = _excerpt
    """What people see of a result that is no error and has no windows."""
    starts_runs: bool = False
    needs_model: bool = False
    """Whether it is of no use where the host offers no model."""
    can_be_cancelled: bool = True
    detaching: Detachable | None = None

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        """What the arguments are."""
        return input_schema(self.arguments)

    def to_json(self) -> dict[str, Any]:
        """The definition as it is registered with a host."""
        return {"name": self.name, "description": self.description, "inputSchema": dict(self.input_schema)}


# --- calls that wait for runs -------------------------------------------------------------------------------

UPDATE_INTERVAL_S = 0.05
"""Output can come in thousands of events a second; nobody reads faster than this."""
_LINE_CELLS = 200


class WaitingCall(ABC):
    """Tells whoever listens what the runs do: in words at once, and how the call stands no oftener than people read."""

    def __init__(self, context: ToolContext, tasks: Sequence[Task], profile: str | None = None) -> None:
        self.delegation = Delegation(
            tasks,
            profile=profile,
            place=context.place,
            observer=self.observe,
            available_tools=context.available_tools,
            agents=context.runner,
            remembered=context.remembered,
        )
        self._context = context
        self._tell = context.on_progress
        self._timer: asyncio.TimerHandle | None = None
        self._words: dict[str, ProgressWords] = {}
        self._lines: dict[str, str] = {}
        self._ended: set[str] = set()
        self._told: set[Path] = set()

    @abstractmethod
    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Something happened in a run."""

    @abstractmethod
    def details(self) -> Details:
        """How the call stands."""

    def windows(self) -> Sequence[Window]:
        """What is shown of it, if it has windows."""
        return ()

    async def see_through(self) -> bool:
        """Wait until all runs are over; whether the call was cancelled, for a caller who wants an answer even then."""
        try:
            await self.delegation
        except asyncio.CancelledError:
            if not self._context.answer_when_cancelled:
                raise
            return True
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._tell_ends()  # what could not be put into words or into a window has ended all the same
        return False

    def changed(self) -> None:
        """Something is new: it is told in a moment, together with what else is new by then."""
        if self._tell is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_INTERVAL_S, self._tell_update)

    def _tell_update(self) -> None:
        self._timer = None
        if self._tell is not None:
            self._tell(Update(self.details, self.windows()))

    def speak(self, state: RunState, events: Sequence[Event]) -> bool:
        """Tell the latest of what these events are in words, and the end of a run; whether there is something new."""
        words = self._words.setdefault(state.run_id, ProgressWords(width=_LINE_CELLS, cwd=state.cwd))
        lines = [line for event in events if (line := words.say(event))]
        if state.status.is_terminal:
            self._ended.add(state.run_id)
        if lines:
            self._lines[state.run_id] = lines[-1]
            if self._tell is not None:
                self._tell(Spoken(self._announced(state)))
        self._tell_ends()
        return bool(lines)

    def _tell_ends(self) -> None:
        for run in self.delegation.runs:
            if self._tell is not None and run.state.status.is_terminal and run.run_dir not in self._told:
                self._told.add(run.run_dir)
                self._tell(RunOver(run.state, run.run_dir))

    def line(self, state: RunState) -> str:
        """What there is to say of a run at the moment."""
        return self._lines.get(state.run_id) or ("Waiting" if state.status is Status.QUEUED else "Starting")

    def _announced(self, state: RunState) -> str:
        """With the run's name if there are several."""
        line, count = self.line(state), len(self.delegation.runs)
        return line if count == 1 else f"[{len(self._ended)}/{count} done] {clean(state.name)}: {line}"
