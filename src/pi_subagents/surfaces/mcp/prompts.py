"""The example prompt templates as MCP prompts."""

from __future__ import annotations

import re
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from pi_subagents.examples import EXAMPLE_PROMPTS
from pi_subagents.profiles.frontmatter import Scalar, parse_frontmatter, split_frontmatter
from pi_subagents.surfaces.mcp.clients import Context

ARGUMENT = "request"
_PLACE = re.compile(r"\$\{@:-(?P<default>[^}]*)\}|\$@")


async def list_prompts(_ctx: Context, _params: Any) -> types.ListPromptsResult:
    """Every template with the one argument that it takes."""
    return types.ListPromptsResult(prompts=[_prompt(name) for name in _names()])


async def get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """A template with what it is about filled in; raises MCPError for an unknown name or a missing argument."""
    if params.name not in _names():
        raise MCPError(types.INVALID_PARAMS, f'Unknown prompt: "{params.name}". Available: {", ".join(_names())}')
    fields, text = _read(params.name)
    about = (params.arguments or {}).get(ARGUMENT, "").strip()
    if not about and _is_required(fields):
        raise MCPError(types.INVALID_PARAMS, f'The prompt "{params.name}" needs the argument "{ARGUMENT}"')
    filled = _PLACE.sub(lambda found: about or found["default"] or "", text)
    content = types.TextContent(type="text", text=filled)
    return types.GetPromptResult(
        description=fields["description"], messages=[types.PromptMessage(role="user", content=content)]
    )


def _names() -> list[str]:
    return sorted(path.stem for path in EXAMPLE_PROMPTS.glob("*.md"))


def _prompt(name: str) -> types.Prompt:
    fields, _ = _read(name)
    hint = fields["argument-hint"]
    argument = types.PromptArgument(name=ARGUMENT, description=hint.strip("<>[]"), required=_is_required(fields))
    return types.Prompt(name=name, description=fields["description"], arguments=[argument])


def _read(name: str) -> tuple[dict[str, str], str]:
    parts = split_frontmatter((EXAMPLE_PROMPTS / f"{name}.md").read_text(encoding="utf-8"))
    entries = parse_frontmatter(parts.frontmatter or "")
    return {entry.key: entry.value.text for entry in entries if isinstance(entry.value, Scalar)}, parts.body


def _is_required(fields: dict[str, str]) -> bool:
    return fields["argument-hint"].startswith("<")
