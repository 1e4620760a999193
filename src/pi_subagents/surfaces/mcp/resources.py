"""What a client can read: what is kept as MCP resources, and the example prompt templates as MCP prompts.

Resources are sessions with their transcripts, outputs and events; profiles and presets.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
import msgspec
from mcp.shared.exceptions import MCPError

from pi_subagents.errors import PiSubagentsError
from pi_subagents.examples import EXAMPLE_PROMPTS
from pi_subagents.export.transcripts import NO_OUTPUT, session_transcript
from pi_subagents.fold import RunState
from pi_subagents.place import Place
from pi_subagents.profiles import ProfileCatalog, load_presets, load_profiles, profile_detail, profile_summary
from pi_subagents.profiles.frontmatter import Scalar, parse_frontmatter, split_frontmatter
from pi_subagents.progress import documented_status
from pi_subagents.runs.forms import session_row
from pi_subagents.runs.listing import Wanted, list_sessions
from pi_subagents.runs.sessions import Session, Sessions
from pi_subagents.surfaces.mcp.calls import Context, place_of

SCHEME = "subagent://"
RESOURCE_NOT_FOUND = -32002
_MAX_LISTED = 50
_MAX_IN_LIST = 1000
_MAX_EVENT_BYTES = 16 * 1024 * 1024
_ARGUMENT = "request"
_PLACE = re.compile(r"\$\{@:-(?P<default>[^}]*)\}|\$@")
_JSON, _TEXT, _LINES = "application/json", "text/plain", "application/jsonl"


async def list_resources(ctx: Context, _params: Any) -> types.ListResourcesResult:
    """The lists, and the outputs of the newest sessions; everything else has a template."""
    place = await place_of(ctx)
    sessions = await asyncio.to_thread(list_sessions, place, Wanted(project=place.project, limit=_MAX_LISTED))
    lists = [_resource(name, f"All {name}", _JSON) for name in ("sessions", "profiles", "presets")]
    outputs = [_resource(f"sessions/{session.latest.session_id}/output", _title(session.state)) for session in sessions]
    return types.ListResourcesResult(resources=[*lists, *outputs])


def _title(state: RunState) -> str:
    return f"{state.name} ({documented_status(state.status)})"


async def list_templates(_ctx: Context, _params: Any) -> types.ListResourceTemplatesResult:
    """How the address of everything that is kept is made."""
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(name=name, uri_template=SCHEME + path, description=description, mime_type=kind)
            for name, path, description, kind in (
                ("output", "sessions/{id}/output", "A session's final text", _TEXT),
                ("transcript", "sessions/{id}/transcript", "What was said and done in a session", _TEXT),
                ("events", "sessions/{id}/events", "The journal of a session's latest run", _LINES),
                ("profile", "profiles/{name}", "A profile with its prompt", _JSON),
                ("preset", "presets/{name}", "A preset with its prompt", _JSON),
            )
        ]
    )


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """One resource; raises MCPError if there is none at that address."""
    uri = str(params.uri)
    place = await place_of(ctx)
    try:
        text, kind = await asyncio.to_thread(_read, place, uri)
    except (PiSubagentsError, LookupError) as error:
        message = str(error) if isinstance(error, PiSubagentsError) else f"Resource not found: {uri}"
        raise MCPError(RESOURCE_NOT_FOUND, message, {"uri": uri}) from error
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _read(place: Place, uri: str) -> tuple[str, str]:
    if not uri.startswith(SCHEME):
        raise LookupError(uri)
    match [unquote(part) for part in uri.removeprefix(SCHEME).split("/")]:
        case ["sessions"]:
            return _to_json(list(map(session_row, list_sessions(place, Wanted(limit=_MAX_IN_LIST))))), _JSON
        case ["sessions", session_id, part] if part in _SESSION_PARTS:
            read, kind = _SESSION_PARTS[part]
            return read(Sessions(place).find(session_id)), kind
        case [("profiles" | "presets") as kind]:
            catalog = _catalog(kind, place)
            return _to_json({name: profile_summary(each) for name, each in catalog.profiles.items()}), _JSON
        case [("profiles" | "presets") as kind, name]:
            return _to_json(profile_detail(_catalog(kind, place).resolve(name))), _JSON
    raise LookupError(uri)


def _catalog(kind: str, place: Place) -> ProfileCatalog:
    load = load_profiles if kind == "profiles" else load_presets
    return load(place.cwd, place.agent_dir)


def _output(session: Session) -> str:
    return session.latest.state.text.strip() or NO_OUTPUT


def _transcript(session: Session) -> str:
    return session_transcript([run.state for run in session.runs], session.run_count)


def _events(session: Session) -> str:
    """The journal; of one that is too large for a message, the end, below a line that says what is missing."""
    try:
        with session.latest.journal.open("rb") as file:
            left_out = max(file.seek(0, os.SEEK_END) - _MAX_EVENT_BYTES, 0)
            file.seek(left_out)
            if left_out:
                left_out += len(file.readline(_MAX_EVENT_BYTES))
            text = file.read(_MAX_EVENT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return f'{{"type":"left_out","bytes":{left_out}}}\n{text}' if left_out else text


_SESSION_PARTS: dict[str, tuple[Callable[[Session], str], str]] = {
    "output": (_output, _TEXT),
    "transcript": (_transcript, _TEXT),
    "events": (_events, _LINES),
}


def _resource(path: str, title: str, kind: str = _TEXT) -> types.Resource:
    return types.Resource(name=path, title=title, uri=SCHEME + quote(path), mime_type=kind)


def _to_json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


# --- prompts ---------------------------------------------------------------------------------------


async def list_prompts(_ctx: Context, _params: Any) -> types.ListPromptsResult:
    """Every template with the one argument that it takes."""
    return types.ListPromptsResult(prompts=[_prompt(name) for name in _prompt_names()])


async def get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """A template with what it is about filled in; raises MCPError for an unknown name or a missing argument."""
    if params.name not in (names := _prompt_names()):
        raise MCPError(types.INVALID_PARAMS, f'Unknown prompt: "{params.name}". Available: {", ".join(names)}')
    fields, text = _template(params.name)
    about = (params.arguments or {}).get(_ARGUMENT, "").strip()
    if not about and _is_required(fields):
        raise MCPError(types.INVALID_PARAMS, f'The prompt "{params.name}" needs the argument "{_ARGUMENT}"')
    filled = _PLACE.sub(lambda found: about or found["default"] or "", text)
    content = types.TextContent(type="text", text=filled)
    return types.GetPromptResult(
        description=fields["description"], messages=[types.PromptMessage(role="user", content=content)]
    )


def _prompt_names() -> list[str]:
    return sorted(path.stem for path in EXAMPLE_PROMPTS.glob("*.md"))


def _prompt(name: str) -> types.Prompt:
    fields, _ = _template(name)
    hint = fields["argument-hint"]
    argument = types.PromptArgument(name=_ARGUMENT, description=hint.strip("<>[]"), required=_is_required(fields))
    return types.Prompt(name=name, description=fields["description"], arguments=[argument])


def _template(name: str) -> tuple[dict[str, str], str]:
    parts = split_frontmatter((EXAMPLE_PROMPTS / f"{name}.md").read_text(encoding="utf-8"))
    entries = parse_frontmatter(parts.frontmatter or "")
    return {entry.key: entry.value.text for entry in entries if isinstance(entry.value, Scalar)}, parts.body


def _is_required(fields: dict[str, str]) -> bool:
    return fields["argument-hint"].startswith("<")
