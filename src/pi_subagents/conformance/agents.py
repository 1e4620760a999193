"""The agents that are tested: how each is pointed at the offline model, and which calls use its tools."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pi_subagents.harness import agent_of
from pi_subagents.harness.programs import variable_of
from pi_subagents.offline import Call, OfflineModel, Request, agent_environment
from pi_subagents.offline.script import Step

KEY = "sk-conformance-0123456789abcdef"


@dataclass(frozen=True)
class Tools:
    """Calls of an agent's own tools; paths are absolute."""

    bash: Callable[[str], Call]
    read: Callable[[Path], Call]
    write: Callable[[Path, str], Call]
    edit: Callable[[Path, str, str], Call]
    ask: Callable[[Path], Call] | None = None
    """Create a file in a way that needs permission if `approvals` is set; None if every write does."""
    delegate: Callable[[str], Sequence[Step]] | None = None
    """Delegate to one of the agent's own sub-agents and get the answer; None if it has none."""


@dataclass(frozen=True)
class TestedAgent:
    """One harness; `variables` are the environment variables that point it at the offline model."""

    __test__ = False

    harness: str
    tools: Tools
    variables: Callable[[OfflineModel], Mapping[str, str]]
    model: str = "scripted"
    profile: Mapping[str, object] = field(default_factory=dict)
    delegating: Mapping[str, object] = field(default_factory=dict)
    """What else its profile needs so that the agent offers the model its own sub-agents."""
    needs_trust: bool = False
    """Whether it works only in projects that the user trusts."""
    own_names: Mapping[str, str] = field(default_factory=dict)
    """The agent's names for tools that we name differently, as the model sees them."""

    @property
    def variable(self) -> str:
        """The environment variable that says which program to start."""
        return variable_of(agent_of(self.harness))

    def environ(self, model: OfflineModel, agent_dir: Path) -> dict[str, str]:
        """The environment that makes the agent use the offline model, and no other."""
        model.write_agent_dir(agent_dir)
        return {**agent_environment(agent_dir, {}), **self.variables(model)}


def _patch(*lines: str) -> Call:
    return Call("apply_patch", {"input": "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))})


def _marked(mark: str, text: str) -> list[str]:
    return [f"{mark}{line}" for line in text.splitlines()]


def _wait_for_sub_agent(request: Request) -> Call:
    started = json.loads(request.tool_results[-1].text)
    return Call("multi_agent_v1__wait_agent", {"targets": [started["agent_id"]]})


_PI = TestedAgent(
    "pi-rpc",
    Tools(
        bash=lambda command: Call("bash", {"command": command}),
        read=lambda path: Call("read", {"path": str(path)}),
        write=lambda path, text: Call("write", {"path": str(path), "content": text}),
        edit=lambda path, old, new: Call("edit", {"path": str(path), "edits": [{"oldText": old, "newText": new}]}),
    ),
    lambda model: {},
    profile={"harness": "pi-rpc"},
)

_CLAUDE = TestedAgent(
    "claude",
    Tools(
        bash=lambda command: Call("Bash", {"command": command, "description": "Run it"}),
        read=lambda path: Call("Read", {"file_path": str(path)}),
        write=lambda path, text: Call("Write", {"file_path": str(path), "content": text}),
        edit=lambda path, old, new: Call("Edit", {"file_path": str(path), "old_string": old, "new_string": new}),
        delegate=lambda prompt: [
            Call("Agent", {"description": "Count", "prompt": prompt, "subagent_type": "general-purpose"})
        ],
    ),
    lambda model: {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": model.api_key},
    profile={"agent": "claude", "model": "scripted", "approvals": "allow"},
    own_names={"bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit"},
)

_CODEX = TestedAgent(
    "codex",
    Tools(
        bash=lambda command: Call("exec_command", {"cmd": command}),
        read=lambda path: Call("exec_command", {"cmd": f"cat {shlex.quote(str(path))}"}),
        write=lambda path, text: _patch(f"*** Add File: {path}", *_marked("+", text)),
        edit=lambda path, old, new: _patch(f"*** Update File: {path}", "@@", *_marked("-", old), *_marked("+", new)),
        ask=lambda path: Call(
            "exec_command",
            {"cmd": f"touch {path}", "sandbox_permissions": "require_escalated", "justification": "May I?"},
        ),
        delegate=lambda prompt: [Call("multi_agent_v1__spawn_agent", {"message": prompt}), _wait_for_sub_agent],
    ),
    lambda model: {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": model.api_key},
    model="gpt-5.5",
    profile={"agent": "codex", "model": "gpt-5.5", "approvals": "allow"},
    delegating={"model": "scripted"},  # models that codex knows must search for that tool first
    own_names={"bash": "exec_command"},
)


def _opencode_config(model: OfflineModel) -> dict[str, str]:
    offered = {"name": "Scripted", "tool_call": True, "reasoning": True, "limit": {"context": 200_000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Offline",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "{env:OFFLINE_API_KEY}"},
        "models": {model.model_id: offered},
    }
    config = {"model": f"offline/{model.model_id}", "provider": {"offline": provider}}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OFFLINE_API_KEY": model.api_key}


_OPENCODE = TestedAgent(
    "opencode",
    Tools(
        bash=lambda command: Call("bash", {"command": command, "description": "Run it"}),
        read=lambda path: Call("read", {"filePath": str(path)}),
        write=lambda path, text: Call("write", {"filePath": str(path), "content": text}),
        edit=lambda path, old, new: Call("edit", {"filePath": str(path), "oldString": old, "newString": new}),
        delegate=lambda prompt: [Call("task", {"description": "Count", "prompt": prompt, "subagent_type": "general"})],
    ),
    _opencode_config,
    profile={"agent": "opencode", "model": "offline/scripted"},
)

_GEMINI = TestedAgent(
    "gemini",
    Tools(
        bash=lambda command: Call("run_shell_command", {"command": command}),
        read=lambda path: Call("read_file", {"file_path": str(path)}),
        write=lambda path, text: Call("write_file", {"file_path": str(path), "content": text}),
        edit=lambda path, old, new: Call(
            "replace", {"file_path": str(path), "instruction": "Change it", "old_string": old, "new_string": new}
        ),
        delegate=lambda prompt: [Call("invoke_agent", {"agent_name": "generalist", "prompt": prompt})],
    ),
    lambda model: {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": model.api_key},
    profile={"agent": "gemini", "model": "scripted", "approvals": "allow"},
    own_names={"bash": "run_shell_command", "read": "read_file", "write": "write_file", "edit": "replace"},
)

_QWEN = TestedAgent(
    "qwen",
    Tools(
        bash=lambda command: Call(
            "run_shell_command", {"command": command, "description": "Run it", "is_background": False}
        ),
        read=lambda path: Call("read_file", {"file_path": str(path)}),
        write=lambda path, text: Call("write_file", {"file_path": str(path), "content": text}),
        edit=lambda path, old, new: Call("edit", {"file_path": str(path), "old_string": old, "new_string": new}),
        delegate=lambda prompt: [Call("agent", {"description": "Count", "prompt": prompt, "run_in_background": False})],
    ),
    lambda model: {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": model.api_key},
    profile={"agent": "qwen", "model": "qwen3-coder-plus", "approvals": "allow"},
    own_names={"bash": "run_shell_command", "read": "read_file", "write": "write_file"},
)

_COPILOT = TestedAgent(
    "copilot",
    Tools(
        bash=lambda command: Call("bash", {"command": command, "description": "Run it"}),
        read=lambda path: Call("view", {"path": str(path)}),
        write=lambda path, text: Call("create", {"path": str(path), "file_text": text}),
        edit=lambda path, old, new: Call("edit", {"path": str(path), "old_str": old, "new_str": new}),
        delegate=lambda prompt: [
            Call("task", {"name": "count", "agent_type": "explore", "description": "Count", "prompt": prompt})
        ],
    ),
    lambda model: {
        "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
        "COPILOT_PROVIDER_API_KEY": model.api_key,
        "COPILOT_MODEL": "scripted",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "400000",  # as large as that of other agents' models
    },
    profile={"agent": "copilot", "approvals": "allow"},
    needs_trust=True,
    own_names={"read": "view", "write": "create"},
)

TESTED: Mapping[str, TestedAgent] = {
    agent.harness: agent for agent in (_PI, _CLAUDE, _CODEX, _OPENCODE, _GEMINI, _QWEN, _COPILOT)
}
"""By the name of the harness."""
