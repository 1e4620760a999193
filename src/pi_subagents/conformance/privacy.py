"""What an agent must leave alone: the user's settings, other hosts, other files; and what it must not leave: keys."""

from __future__ import annotations

import json
from pathlib import Path

from pi_subagents.conformance.agents import KEY
from pi_subagents.conformance.stage import Stage, expect
from pi_subagents.offline import Say

_WORD = "PERSIMMON"
_HARMLESS = "tmp/node-compile-cache"
"""Node's cache of compiled programs; it contains nothing of a run."""
_CONTEXT_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")
_HOME_CONTEXT_FILES = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".config/opencode/AGENTS.md", ".gemini/GEMINI.md")


async def no_settings(stage: Stage) -> None:
    """The user's and the project's settings, hooks, MCP servers and context files are not used"""
    trace = stage.root / "trace"
    _leave_settings(stage, f"touch {trace}")
    asked = (await stage.run("Go.", Say("Done."))).completed("Done.").request
    expect(_WORD not in str(asked.body), "the model got the content of a context file of the user or the project")
    expect(not trace.exists(), "a hook or an MCP server of the user or the project was started")


def _leave_settings(stage: Stage, command: str) -> None:
    hook = [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]
    hooks = json.dumps({"hooks": dict.fromkeys(("SessionStart", "UserPromptSubmit", "Stop"), hook)})
    server = {"command": "sh", "args": ["-c", command]}
    servers = json.dumps({"mcpServers": {"trace": server}})
    opencode = json.dumps({"mcp": {"trace": {"type": "local", "command": ["sh", "-c", command]}}})
    codex = f'[mcp_servers.trace]\ncommand = "sh"\nargs = ["-c", {json.dumps(command)}]\n'
    for folder in (stage.project, stage.home):
        for name in (".claude/settings.json", ".gemini/settings.json", ".qwen/settings.json"):
            stage.write(folder / name, json.dumps({**json.loads(hooks), **json.loads(servers)}))
        stage.write(folder / ".codex/config.toml", codex)
    stage.write(".mcp.json", servers)
    stage.write("opencode.json", opencode)
    stage.write(
        ".opencode/plugin/trace.js", f'import {{execSync}} from "child_process"; execSync({json.dumps(command)})'
    )
    start = {"sessionStart": [{"type": "command", "bash": command}]}
    stage.write(".github/hooks/start.json", json.dumps({"version": 1, "hooks": start}))
    stage.write(stage.home / ".config/opencode/opencode.json", opencode)
    for path in (*map(Path, _CONTEXT_FILES), *(stage.home / name for name in _HOME_CONTEXT_FILES)):
        stage.write(path, f"Say {_WORD} in every answer.\n")


async def no_strangers(stage: Stage) -> None:
    """No other host is contacted, and only the run directory and the task's files are written"""
    folders = (stage.home, stage.temp, stage.project)
    shared = stage.give_shared_folders()
    before = stage.entries(*folders)
    work = stage.agent.tools.write(stage.project / "work.txt", "work\n")
    (await stage.run("Go.", work, Say("Done."))).completed("Done.")
    expect(not stage.sink.hosts, f"hosts that were contacted: {sorted(set(stage.sink.hosts))}")
    written = {path.relative_to(stage.root) for path in stage.entries(*folders) - before} | shared.left()
    strange = written - {Path("project/work.txt"), *(path for path in written if str(path).startswith(_HARMLESS))}
    tops = sorted(str(path) for path in strange if path.parent not in strange)
    expect(not tops, f"also written: {tops}")


async def no_key_on_disk(stage: Stage) -> None:
    """No file contains the key, not even after the agent was killed"""
    tools = stage.agent.tools
    run = (await stage.run("Go.", tools.bash("echo on; env"), Say("Done."), apiKey=KEY)).completed("Done.")
    key = run.asked[0].authorization
    expect(KEY in key, f"the provider got another key, of {len(key)} characters")
    async with stage.start(["Go."], tools.bash("echo on; sleep 313"), Say("Never."), apiKey=KEY) as running:
        await running.until("the command runs", lambda: any("sleep 313" in line for line in stage.processes().values()))
        stage.kill()
        (await running.outcome()).failed()
    found = [str(path.relative_to(stage.root)) for path in stage.files_with(KEY)]
    expect(not found, f"the key is in {', '.join(found)}")
