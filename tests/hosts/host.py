"""How each host is started for a test: its own home, the offline model as its provider, our MCP server, no chatter."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pi_subagents
from pi_subagents.offline import Call, Request
from scripts.bootstrap import AGENTS
from tests.kit.workplace import MARK_VARIABLE
from tests.pi.stage import Stage

HOSTS = tuple(agent for agent in AGENTS if agent.name in ("claude", "codex"))
TOOL = "delegate_to_subagents"
_SERVER = "pi-subagents"
_SERVER_COMMAND = (sys.executable, "-m", "pi_subagents", "mcp")
_PACKAGE_HOME = Path(pi_subagents.__file__).parents[1]
_KEPT_VARIABLES = ("HOME", "PATH", "TMPDIR", "NO_PROXY", "no_proxy", MARK_VARIABLE)
# A busy machine needs more than the 30 s (Claude Code) or 10 s (Codex) that a server gets by default.
_SERVER_START_S = 100


@contextmanager
def start_host(command: str, prompt: str, stage: Stage) -> Iterator[subprocess.Popen[str]]:
    """Start `claude` or `codex` in the project of the stage, without a terminal, to answer one prompt."""
    program = next(host.program for host in HOSTS if host.name == command)
    arguments, variables = {"claude": _claude, "codex": _codex}[command](stage)
    with subprocess.Popen(
        [str(program), *arguments, prompt],
        cwd=stage.project,
        env={**_environment(stage), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def call_tool(request: Request, arguments: Mapping[str, object]) -> Call:
    """A call of our tool under the name that the host has given it."""
    return Call(next(filter(_is_tool, request.tools)), arguments)


def offers_tool(request: Request) -> bool:
    """Whether this is the host's conversation: neither a sub-agent's nor one of the host's requests beside it."""
    return any(map(_is_tool, request.tools))


def _is_tool(name: str) -> bool:
    return name.startswith("mcp__") and name.endswith(f"__{TOOL}")


def _environment(stage: Stage) -> dict[str, str]:
    """Nothing of whoever runs the tests, who may be such a host."""
    kept = {name: value for name, value in stage.environ.items() if name in _KEPT_VARIABLES or name.startswith("PI_")}
    return {**kept, "PYTHONPATH": str(_PACKAGE_HOME)}


def _claude(stage: Stage) -> tuple[list[str], dict[str, str]]:
    command, *arguments = _SERVER_COMMAND
    servers = stage.root / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {_SERVER: {"command": command, "args": arguments}}}))
    options = ["--strict-mcp-config", f"--mcp-config={servers}", f"--allowedTools=mcp__{_SERVER}__{TOOL}"]
    variables = {
        "ANTHROPIC_BASE_URL": stage.model.url,
        "ANTHROPIC_API_KEY": "no-real-key",
        "CLAUDE_CONFIG_DIR": str(stage.root / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        # Lists the tools of MCP servers at once instead of letting the model search for them.
        "ENABLE_TOOL_SEARCH": "false",
        "MCP_TIMEOUT": str(_SERVER_START_S * 1000),
    }
    return ["--print", "--model=scripted", *options], variables


def _codex(stage: Stage) -> tuple[list[str], dict[str, str]]:
    home = stage.root / "codex"
    home.mkdir()
    home.joinpath("config.toml").write_text(_codex_settings(stage))
    options = ["--skip-git-repo-check", "--ephemeral"]
    return ["exec", *options], {"CODEX_HOME": str(home), "OFFLINE_KEY": "no-real-key"}


def _codex_settings(stage: Stage) -> str:
    command, *arguments = _SERVER_COMMAND
    # Codex hands its servers none of its own variables.
    variables = ", ".join(f"{name} = {json.dumps(value)}" for name, value in _environment(stage).items())
    return f"""
        model = "{stage.model.model_id}"
        model_provider = "offline"
        approval_policy = "never"
        sandbox_mode = "read-only"
        check_for_update_on_startup = false

        [analytics]
        enabled = false

        [model_providers.offline]
        name = "The offline model"
        base_url = "{stage.model.url}/v1"
        wire_api = "responses"
        env_key = "OFFLINE_KEY"

        [mcp_servers.{_SERVER}]
        command = {json.dumps(command)}
        args = {json.dumps(arguments)}
        env = {{ {variables} }}
        default_tools_approval_mode = "approve"
        startup_timeout_sec = {_SERVER_START_S}
        required = true  # else a server that needs more than a second comes too late for the first request
    """
