"""The MCP server itself: the seven tools, resources and prompts on the SDK's low-level server."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged
from mcp.shared.message import SessionMessage

from pi_subagents.agents.pool import SharedAgents
from pi_subagents.runs.sessions import Sessions
from pi_subagents.surfaces.mcp import identity, prompts, resources
from pi_subagents.surfaces.mcp.calls import ClientCalls
from pi_subagents.surfaces.mcp.clients import Context, owner_of, place_of, takes_tasks
from pi_subagents.surfaces.mcp.presence import while_present
from pi_subagents.surfaces.mcp.reporting import Send, reporting
from pi_subagents.surfaces.mcp.results import definition, to_mcp
from pi_subagents.surfaces.mcp.tasks import CallTasks
from pi_subagents.tools import TOOLS, ToolContext, ToolResult, call_tool

logger = logging.getLogger(__name__)


class SubagentServer:
    """Serves any number of clients; leaving it stops the foreground runs of them all.

    Clients that have not answered for `silence_s` count as gone; leave it out where their end is noticed anyway.
    """

    def __init__(self, tools: Sequence[str] | None, silence_s: float | None = None) -> None:
        self._tools = {name: TOOLS[name] for name in tools or TOOLS}
        self._silence_s = silence_s
        self._calls = ClientCalls()
        self._changes = InMemorySubscriptionBus()
        self._sessions: dict[Path, Sessions] = {}
        self._agents = SharedAgents()
        self._tasks = CallTasks(self._context)
        self.mcp: Server[Any] = Server(
            identity.NAME,
            version=identity.VERSION,
            title=identity.TITLE,
            instructions=identity.INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=resources.list_resources,
            on_list_resource_templates=resources.list_templates,
            on_read_resource=resources.read_resource,
            on_list_prompts=prompts.list_prompts,
            on_get_prompt=prompts.get_prompt,
            on_subscriptions_listen=ListenHandler(self._changes),
        )
        self._tasks.register(self.mcp)

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
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(definition(tool)) for tool in self._tools.values()]
        )

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
            return await self._tasks.create(tool, arguments, ctx)
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
        if ctx.protocol_version in identity.HANDSHAKE_VERSIONS:
            await ctx.session.send_resource_list_changed()


def _progress_of(ctx: Context) -> Send | None:
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        return None

    async def send(elapsed_s: float, words: str) -> None:
        await ctx.session.report_progress(elapsed_s, None, words)

    return send
