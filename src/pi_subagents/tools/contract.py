"""What a tool is, for every surface that offers tools to a model: arguments, results, calls, and calls that wait."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pi_subagents.encoding import converted
from pi_subagents.errors import InvalidCall
from pi_subagents.harness import AGENTS
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.text import Line
from pi_subagents.text.patterns import pattern
from pi_subagents.text.wording import closest

if TYPE_CHECKING:
    from pi_subagents.fold import RunState
    from pi_subagents.progress import Window
    from pi_subagents.runners import Runner
    from pi_subagents.runs.remembered import Remembered
    from pi_subagents.runs.run import Run
    from pi_subagents.runs.sessions import Sessions

T = TypeVar("T")

AGENT_CHOICE = msgspec.Meta(
    description="Agent program; default: the profile's or preset's, else pi",
    extra_json_schema={"enum": list(AGENTS)},
)
"""The agent for a task; like an unknown profile, an unknown agent fails only its task, not the whole call."""

_IN_ORDER = ("type", "minLength", "minItems", "minimum", "maxItems", "maximum", "default", "description")
"""Limits before words; what structures a schema comes after these as it is."""

_AT = pattern(r"^(?P<rule>.*?)(?: - at `\$\.?(?P<field>.*)`)?$", re.DOTALL)
_UNKNOWN = pattern(r"Object contains unknown field `(?P<name>.*)`")
_MISSING = pattern(r"Object missing required field `(?P<name>.*)`")


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
        return converted(arguments, shape)
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


class ToolResult(msgspec.Struct, frozen=True):
    """What a model is told, and what a surface shows."""

    text: str
    details: Details = msgspec.field(default_factory=dict)
    is_error: bool = False
    structured: Details | None = None
    """The same for the model of an MCP client, many of which show it nothing else."""
    windows: Sequence[Window] = ()
    """What the details tell of them, for a surface that paints windows itself."""

    def to_json(self) -> dict[str, Any]:
        """The result as MCP and `pi` write it."""
        return {"content": [{"type": "text", "text": self.text}], "details": self.details, "isError": self.is_error}


# --- progress ------------------------------------------------------------------------------------------------


class Spoken(msgspec.Struct, frozen=True):
    """Something new, in a line of words."""

    line: str


class Update(msgspec.Struct, frozen=True):
    """How the call stands, at most every 50 ms: the details, and the windows if it has any, as if it ended now."""

    details: Callable[[], Details]
    windows: Sequence[Window] = ()


class RunOver(msgspec.Struct, frozen=True):
    """A run that the call waits for has ended."""

    state: RunState
    run_dir: Path


Progress = Spoken | Update | RunOver
OnProgress = Callable[[Progress], None]


# --- calls ---------------------------------------------------------------------------------------------------


class ToolContext(msgspec.Struct, frozen=True):
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
    remembered: Remembered = lambda session_id: ()
    owner: str = "terminal"


# --- tools ---------------------------------------------------------------------------------------------------


class Detachable(msgspec.Struct, frozen=True):
    """How a call that waits becomes background runs, for hosts that come back for the result."""

    kinds: tuple[str, ...]
    """What the ids of such calls begin with."""
    plan: Callable[[Any], tuple[str, list[Task], str | None]]
    """From the arguments: the kind, the tasks, and the profile of those that name none."""
    conclude: Callable[[str, Sequence[Run], ToolContext], ToolResult]
    """What the tool would have answered, had somebody waited."""


def _excerpt(result: ToolResult) -> list[Line]:
    from pi_subagents.progress import excerpt_segments  # a caller that is a program sees no excerpt

    return excerpt_segments(result.text, EXCERPT_LINES)


class Tool(msgspec.Struct, frozen=True, dict=True):
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
