"""The MCP server itself: the seven tools, resources and prompts on the SDK's low-level server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from msgspec.structs import replace

from pi_subagents.agents.sharing import SharedAgents
from pi_subagents.clock import iso_time, now_ms
from pi_subagents.errors import PiSubagentsError
from pi_subagents.runs.sessions import Sessions
from pi_subagents.surfaces.mcp import handshake, resources
from pi_subagents.surfaces.mcp.calls import (
    ClientCalls,
    Context,
    Send,
    owner_of,
    place_of,
    reporting,
    takes_tasks,
    to_mcp,
    while_present,
)
from pi_subagents.tools import TOOLS, Tool, ToolContext, ToolResult, call_tool
from pi_subagents.tools.detached import DetachedCall, detached_result, find_detached, start_detached_call, stop_detached

_POLL_INTERVAL_MS = 1000

logger = logging.getLogger(__name__)


class _TaskParameters(types.RequestParams):
    task_id: str


class SubagentServer:
    """Serves any number of clients; leaving it stops the foreground runs of them all.

    Clients that have not answered for `silence_s` count as gone; leave it out where their end is noticed anyway.
    """

    def __init__(self, tools: Sequence[str] | None, silence_s: float | None = None) -> None:
        self._tools = list(tools or TOOLS)
        self._silence_s = silence_s
        self._calls = ClientCalls()
        self._changes = InMemorySubscriptionBus()
        self._sessions: dict[Path, Sessions] = {}
        self._agents = SharedAgents("mcp")
        self.mcp: Server[Any] = Server(
            handshake.NAME,
            version=handshake.VERSION,
            title=handshake.TITLE,
            instructions=handshake.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=resources.list_resources,
            on_list_resource_templates=resources.list_templates,
            on_read_resource=resources.read_resource,
            on_list_prompts=resources.list_prompts,
            on_get_prompt=resources.get_prompt,
            on_subscriptions_listen=ListenHandler(self._changes),
        )
        self.mcp.extensions[handshake.TASKS_EXTENSION] = {}
        self.mcp.add_request_handler("tasks/get", _TaskParameters, self._get_task)
        self.mcp.add_request_handler("tasks/update", _TaskParameters, self._update_task)
        self.mcp.add_request_handler("tasks/cancel", _TaskParameters, self._cancel_task)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop every foreground run and wait until nothing is left of it."""
        await self._calls.close()
        await self._agents.close()

    @property
    def options(self) -> InitializationOptions:
        """What the server says of itself in a handshake."""
        return self.mcp.create_initialization_options(NotificationOptions(resources_changed=True))

    async def run(
        self,
        incoming: MemoryObjectReceiveStream[SessionMessage | Exception],
        outgoing: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        """Serve one client until it hangs up."""
        await self.mcp.run(incoming, outgoing, self.options)

    async def _list_tools(self, _ctx: Context, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(handshake.list_tools_result(self._tools))

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> Any:
        name, arguments = params.name, params.arguments or {}
        if name in TOOLS and name not in self._tools:
            served = ", ".join(self._tools)
            return to_mcp(ToolResult(f'"{name}" is not served here. Available tools: {served}', is_error=True))
        try:
            answer = await self._answer(name, arguments, ctx)
        except Exception as error:  # a model can go on after a result; a client may give up at a failure
            logger.exception("the call of %s failed", name)
            return to_mcp(ToolResult(f"{name} failed in the server (see its log): {error}", is_error=True))
        if name in TOOLS and TOOLS[name].starts_runs:
            await self._tell_of_new_sessions(ctx)
        return answer

    async def _answer(self, name: str, arguments: object, ctx: Context) -> Any:
        tool = TOOLS.get(name)
        if tool and tool.detaching and takes_tasks(ctx):
            return await self._create_task(tool, arguments, ctx)
        call = self._calls.run(self._call(name, arguments, ctx))
        return to_mcp(await while_present(ctx, self._silence_s, call))

    async def _call(self, name: str, arguments: object, ctx: Context) -> ToolResult:
        async with reporting(_progress_of(ctx)) as on_progress:
            context = await self._context(ctx)
            return await call_tool(name, arguments, replace(context, on_progress=on_progress))

    async def _context(self, ctx: Context) -> ToolContext:
        place = await place_of(ctx)
        sessions = self._sessions.setdefault(place.cwd, Sessions(place))
        return ToolContext(place, sessions=sessions, runner=self._agents.at(place), owner=owner_of(ctx))

    async def _tell_of_new_sessions(self, ctx: Context) -> None:
        # Revisions of the protocol with a handshake get it unasked, later ones if they listen.
        await self._changes.publish(ResourcesListChanged())
        if ctx.protocol_version in handshake.HANDSHAKE_VERSIONS:
            await ctx.session.send_resource_list_changed()

    # --- MCP Tasks: a waiting call becomes background runs, and its client comes back for the result. The task's id
    # names the runs (see `tools.detached`), so it outlives this server and is known to any other.

    async def _create_task(self, tool: Tool, arguments: object, ctx: Context) -> Any:
        """Start a call and answer with its task; what is wrong with the call is its result at once."""
        try:
            call = await start_detached_call(tool, arguments, await self._context(ctx))
        except PiSubagentsError as error:
            return to_mcp(ToolResult(str(error), is_error=True))
        return {"resultType": "task", **_task(call, "working")}

    async def _get_task(self, ctx: Context, params: _TaskParameters) -> dict[str, Any]:
        context = await self._context(ctx)
        call = await _find_task(ctx, params, context)
        if not call.is_over:
            return _task(call, "working")
        if call.was_stopped:
            return _task(call, "cancelled")
        result = await asyncio.to_thread(detached_result, call, context)
        return _task(call, "completed") | {"result": to_mcp(result).model_dump(by_alias=True, exclude_none=True)}

    async def _update_task(self, ctx: Context, params: _TaskParameters) -> dict[str, Any]:
        """Nothing here ever asks for input, so whatever is sent answers nothing."""
        await _find_task(ctx, params, await self._context(ctx))
        return {}

    async def _cancel_task(self, ctx: Context, params: _TaskParameters) -> dict[str, Any]:
        stop_detached(await _find_task(ctx, params, await self._context(ctx)))
        return {}


def _progress_of(ctx: Context) -> Send | None:
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        return None

    async def send(elapsed_s: float, words: str) -> None:
        await ctx.session.report_progress(elapsed_s, None, words)

    return send


async def _find_task(ctx: Context, params: _TaskParameters, context: ToolContext) -> DetachedCall:
    if not takes_tasks(ctx):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "Missing required client capability",
            {"requiredCapabilities": {"extensions": {handshake.TASKS_EXTENSION: {}}}},
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
        "pollIntervalMs": _POLL_INTERVAL_MS,
    }
