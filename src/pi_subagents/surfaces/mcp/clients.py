"""Who calls, and from where: what a client says of itself, in the terms of the tools."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from pi_subagents.place import Place
from pi_subagents.surfaces.mcp.identity import TASKS_EXTENSION

Context = ServerRequestContext[Any, Any]

_ROOTS_TIMEOUT_S = 5.0
logger = logging.getLogger(__name__)


async def place_of(ctx: Context) -> Place:
    """The client's first root that is a directory here, if it offers roots, else where the server was started."""
    for folder in await _roots(ctx):
        if _is_here(folder):
            return Place.here(folder)
    return Place.here()


def owner_of(ctx: Context) -> str:
    """Whose background runs a call starts and sees: the same client finds them again after a restart."""
    client = ctx.session.client_params
    return f"mcp:{client.client_info.name}" if client else "mcp"


def takes_tasks(ctx: Context) -> bool:
    """Whether the client said with this request that it can come back for a result."""
    return ctx.session.check_client_capability(types.ClientCapabilities(extensions={TASKS_EXTENSION: {}}))


async def _roots(ctx: Context) -> list[Path]:
    # Asked for at every call: then nobody has to remember them, or to notice that they changed.
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
        return []
    try:
        answer = await ctx.session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=_ROOTS_TIMEOUT_S,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError) as error:
        logger.warning("the client offers roots but did not name them: %s", error)
        return []
    return [path for root in answer.roots if (path := _local_path(str(root.uri)))]


def _local_path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return Path(unquote(parts.path))


def _is_here(folder: Path) -> bool:
    try:
        return folder.is_absolute() and folder.is_dir()
    except OSError:  # a name that is too long, or a place that nobody may enter
        return False
