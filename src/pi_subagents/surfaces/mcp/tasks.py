"""MCP Tasks: a waiting call becomes background runs, and its client comes back for the result.

The task's id names the runs (see `tools.registry`), so it outlives this server and is known to any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from pi_subagents.clock import iso_time, now_ms
from pi_subagents.errors import PiSubagentsError
from pi_subagents.surfaces.mcp.clients import Context, takes_tasks
from pi_subagents.surfaces.mcp.identity import TASKS_EXTENSION
from pi_subagents.surfaces.mcp.results import to_mcp
from pi_subagents.tools import Tool, ToolContext, ToolResult
from pi_subagents.tools.registry import DetachedCall, detached_result, find_detached, start_detached_call, stop_detached

POLL_INTERVAL_MS = 1000

ContextOf = Callable[[Context], Awaitable[ToolContext]]


class _TaskParameters(types.RequestParams):
    task_id: str


class CallTasks:
    """Tool calls as tasks."""

    def __init__(self, context_of: ContextOf) -> None:
        self._context_of = context_of

    def register(self, server: Server[Any]) -> None:
        """Serve the methods of the extension."""
        server.extensions[TASKS_EXTENSION] = {}
        server.add_request_handler("tasks/get", _TaskParameters, self._get)
        server.add_request_handler("tasks/update", _TaskParameters, self._update)
        server.add_request_handler("tasks/cancel", _TaskParameters, self._cancel)

    async def create(self, tool: Tool, arguments: object, ctx: Context) -> Any:
        """Start a call and answer with its task; what is wrong with the call is its result at once."""
        try:
            call = await start_detached_call(tool, arguments, await self._context_of(ctx))
        except PiSubagentsError as error:
            return to_mcp(ToolResult(str(error), is_error=True))
        return {"resultType": "task", **_task(call, "working")}

    async def _get(self, ctx: Context, params: _TaskParameters) -> dict[str, Any]:
        context = await self._context_of(ctx)
        call = await self._find(ctx, params, context)
        if not call.is_over:
            return _task(call, "working")
        if call.was_stopped:
            return _task(call, "cancelled")
        result = await asyncio.to_thread(detached_result, call, context)
        return _task(call, "completed") | {"result": to_mcp(result).model_dump(by_alias=True, exclude_none=True)}

    async def _update(self, ctx: Context, params: _TaskParameters) -> dict[str, Any]:
        """Nothing here ever asks for input, so whatever is sent answers nothing."""
        await self._find(ctx, params, await self._context_of(ctx))
        return {}

    async def _cancel(self, ctx: Context, params: _TaskParameters) -> dict[str, Any]:
        stop_detached(await self._find(ctx, params, await self._context_of(ctx)))
        return {}

    async def _find(self, ctx: Context, params: _TaskParameters, context: ToolContext) -> DetachedCall:
        if not takes_tasks(ctx):
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                "Missing required client capability",
                {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}},
            )
        try:
            return await asyncio.to_thread(find_detached, params.task_id, context)
        except PiSubagentsError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error


def _task(call: DetachedCall, status: str) -> dict[str, Any]:
    states = [run.state for run in call.runs]
    ended = [state.completed_at for state in states if state.completed_at]
    return {
        "taskId": call.id,
        "status": status,
        "statusMessage": call.words,
        "createdAt": iso_time(min((state.created_at for state in states if state.created_at), default=now_ms())),
        "lastUpdatedAt": iso_time(max(ended) if call.is_over and ended else now_ms()),
        "ttlMs": None,
        "pollIntervalMs": POLL_INTERVAL_MS,
    }
