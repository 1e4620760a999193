"""The agents that speak ACP, one entry each: how to start it, and in what it differs from the others.

In arguments, variables and settings, `$name` stands for a value of the run (`acp._values`); where that is None, the
item is left out. `$home` is the agent's own directory in the run directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from pi_subagents.harness.contract import AGENT_HOME, Report
from pi_subagents.harness.frames import ToolName, object_in, text_in


class AcpAgent(msgspec.Struct, frozen=True):
    """How one agent is started, and in what it differs from the others.

    `variables` are always set. `private` ones keep the user's settings out, so they are set only without `inherit`, and
    `against_project` keeps those of the project out, unless `inherit` and the user's trust let them in. What the user
    says in `unheard` variables is taken away without `inherit`; in `permissive` ones, where `approvals` is set, too.
    `heeds_project` says when nothing keeps it from running what a project's files name: `heeded_files`, or any if there
    are none. `shared` ones name directories of all its runs, where it unpacks itself.

    `settings` are what the profile says, `private_settings` keep the user's out. They go where `settings_in` says: into
    a variable (upper case), or a file below `$home` that takes the place of the user's, so with `inherit` the profile's
    fields in `lost_inheriting` would be lost. `given_settings` are copied from the variable's old value.

    `conversation_files` are in the run directory with `inherit` too, if it `keeps_inheriting`. A conversation can be
    continued once they contain `answered_by`. One that `records_keys` writes what its tools print to the user's own
    directory with `inherit`, where a profile's key could not be removed.

    `key` is the variable for a profile's key, `provider_key` the one in its place if the first variable there is
    set. `providers` maps variables that name a provider to what they contain if they do. `login` has the directory of
    the user's login (`VARIABLE:default below HOME`), its path in there, and its path below `$home`. `auth` maps the
    variable that is set, or "" for a login, to the agent's name for that way to log in.

    Some say other things as if they were the model's: `notices` word by word, `notice_prefix` before the path of a file
    that a call named, `errors` word by word, `error_prefix` before any other error.
    """

    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, ...], ...] = ()
    variables: Mapping[str, str] = {}
    private: Mapping[str, str] = {}
    shared: tuple[str, ...] = ()
    against_project: Mapping[str, str] = {}
    unheard: tuple[str, ...] = ()
    permissive: tuple[str, ...] = ()
    heeds_project: Literal["never", "inheriting", "always"] = "never"
    heeded_files: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    private_settings: Mapping[str, Any] = {}
    settings_in: str = ""
    lost_inheriting: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    given_settings: tuple[str, ...] = ()
    key: str | None = None
    provider_key: tuple[str, str] | None = None
    providers: Mapping[str, str] = {}
    keys: tuple[str, ...] = ()
    login: tuple[str, str, str] | None = None
    auth: tuple[tuple[str, str], ...] = ()
    log_in: str = "start the agent itself and log in there"
    sets_model: bool = True
    sets_mode: bool = True
    default_mode: str = ""
    appended_in: str = f"{AGENT_HOME}/instructions.md"
    honours: frozenset[str] = frozenset()
    reports: frozenset[Report] = frozenset({"diffs", "thinking"})
    tools: Mapping[str, ToolName] = {}
    other_tools: tuple[str, ...] = ()
    conversation_files: tuple[str, ...] = ()
    keeps_inheriting: bool = False
    answered_by: bytes = b""
    records_keys: bool = False
    aged: str = ""
    name_in: Literal["kind", "title", "id"] = "kind"
    failed_titles: frozenset[str] = frozenset()
    joins_prompts: bool = False
    tells_last_step: bool = False
    errors: frozenset[str] = frozenset()
    error_prefix: str = ""
    notice_prefix: str = ""
    notices: frozenset[str] = frozenset()
    retry_notice: str = ""
    delegating: frozenset[str] = frozenset()

    def key_in(self, environ: Mapping[str, str]) -> str | None:
        """The variable for a profile's key in this environment."""
        if self.provider_key and environ.get(self.provider_key[0]):
            return self.provider_key[1]
        return self.key

    def own_name(self, tool: str) -> str | None:
        """Its own name for a tool, given by our name or its own; None if it has no such tool."""
        ours = next((own for own, known in self.tools.items() if known.name == tool), None)
        return ours or (tool if tool in self.tools or tool in self.other_tools else None)

    def tool_in(self, call: dict[str, Any]) -> str:
        """The agent's own name for the tool of a call, or the nearest that the call reveals."""
        meta, kind = object_in(call.get("_meta")), text_in(call.get("kind")) or "other"
        places = (meta, *(object_in(value) for value in meta.values()))
        named = next(filter(None, (text_in(place.get("toolName")) for place in places)), None)
        title, call_id = text_in(call.get("title")) or kind, text_in(call.get("toolCallId")) or ""
        if named or self.name_in == "kind":
            return named or (title if kind == "other" else kind)
        return title if self.name_in == "title" else call_id.rpartition("__")[0] or kind


_KINDS = {
    "read": ToolName("read"),
    "edit": ToolName("edit"),
    "execute": ToolName("bash"),
    "search": ToolName("grep"),
}
"""For agents that report only the kind of a tool, not its name."""
_ALWAYS = frozenset({"model", "api_key", "extra_args", "inherit", "program", "approvals", "mode"})
_INSTRUCTED = frozenset({"system_prompt", "append_system_prompt", "tools", "exclude_tools", "no_tools"}) | {
    "no_context_files"
}

_SETTINGS_OF_A_PROFILE = {
    "exclude_tools": "excludeTools",
    "append_system_prompt": "appendSystemPrompt",
    "suggested_skills": "suggestedSkills",
    "load_skills": "loadSkills",
}

_GEMINI_TOOLS = {
    "run_shell_command": ToolName("bash"),
    "read_file": ToolName("read", {"file_path": "path"}),
    "replace": ToolName("edit", {"file_path": "path", "old_string": "oldText", "new_string": "newText"}),
    "write_file": ToolName("write", {"file_path": "path"}),
    "grep_search": ToolName("grep"),
    "glob": ToolName("find"),
    "list_directory": ToolName("ls", {"dir_path": "path"}),
}

_GEMINI_OTHER_TOOLS = (
    *("activate_skill", "ask_user", "enter_plan_mode", "exit_plan_mode", "google_web_search", "invoke_agent"),
    *("list_background_processes", "read_background_output", "read_many_files", "save_memory", "update_topic"),
    *("web_fetch", "write_todos"),
)

_QWEN_TOOLS = {
    **{name: tool for name, tool in _GEMINI_TOOLS.items() if name != "replace"},
    "edit": _GEMINI_TOOLS["replace"],
}
_QWEN_OTHER_TOOLS = (
    *("agent", "ask_user_question", "enter_plan_mode", "exit_plan_mode", "get_goal", "list_agents", "notebook_edit"),
    *("skill", "todo_write", "tool_search", "update_goal", "web_fetch"),
)

AGENTS: Mapping[str, AcpAgent] = {
    "acp": AcpAgent(honours=_ALWAYS - {"api_key"} | {"thinking_level"}, tools=_KINDS),
    "opencode": AcpAgent(
        arguments=("acp",),
        variables={
            "OPENCODE_DB": "$home/opencode.db",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "OPENCODE_PURE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        private={
            "OPENCODE_DISABLE_CLAUDE_CODE": "1",
            "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
            "XDG_CONFIG_HOME": "$home/config",
            "XDG_DATA_HOME": "$home/data",
            "XDG_STATE_HOME": "$home/state",
            "XDG_CACHE_HOME": "$home/cache",
        },
        against_project={"OPENCODE_DISABLE_PROJECT_CONFIG": "1"},
        heeds_project="always",  # its second loader of plug-ins obeys none of these variables
        heeded_files=(".opencode", "opencode.json", "opencode.jsonc"),
        unheard=("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"),
        permissive=("OPENCODE_PERMISSION",),
        settings={
            "instructions": ("$appended_file",),
            "provider": "$keyed_provider",
            "tools": "$tool_switches",  # for its own sub-agents, too
            "agent": {
                "$mode_told": {"prompt": "$system_prompt", "tools": "$tool_switches", "permission": "$own_rules"},
                "title": {"disable": True},
            },
            "default_agent": "$default_mode",
            "experimental": {"continue_loop_on_deny": True},
            "permission": "$sub_agent_rules",
        },
        settings_in="OPENCODE_CONFIG_CONTENT",
        files={  # otherwise it downloads its plug-in interface at every start
            "config/opencode/node_modules/.keep": "",
            "config/opencode/package-lock.json": '{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}',
        },
        key="PI_SUBAGENTS_API_KEY",
        given_settings=("provider", "model", "small_model", "enabled_providers", "disabled_providers"),
        keys=("OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
        providers={"OPENCODE_CONFIG_CONTENT": '"provider"'},
        login=("XDG_DATA_HOME:.local/share", "opencode/auth.json", "data/opencode/auth.json"),
        log_in="run `opencode auth login`, or set the key of a provider",
        honours=_ALWAYS | _INSTRUCTED | {"provider", "thinking_level"},
        reports=frozenset({"diffs", "thinking", "progress", "cost", "context"}),
        tools={
            "bash": ToolName("bash"),
            "read": ToolName("read", {"filePath": "path"}),
            "edit": ToolName("edit", {"filePath": "path", "oldString": "oldText", "newString": "newText"}),
            "write": ToolName("write", {"filePath": "path"}),
            "grep": ToolName("grep"),
            "glob": ToolName("find"),
            "list": ToolName("ls"),
        },
        other_tools=("apply_patch", "skill", "task", "todowrite", "webfetch", "websearch"),
        conversation_files=(f"{AGENT_HOME}/opencode.db", f"{AGENT_HOME}/opencode.db-*"),
        keeps_inheriting=True,
        name_in="title",
        failed_titles=frozenset({"Invalid Tool"}),
        default_mode="build",
        joins_prompts=True,
        tells_last_step=True,
        delegating=frozenset({"task"}),
    ),
    "gemini": AcpAgent(
        arguments=("--acp",),
        options=(("-m", "$model"), ("--approval-mode", "$mode"), ("--include-directories", "$skill_folders")),
        variables={"GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_SYSTEM_MD": "$system_file"},
        private={"GEMINI_CLI_HOME": "$home"},
        against_project={"GEMINI_CLI_TRUST_WORKSPACE": "false"},
        unheard=("GEMINI_SYSTEM_MD", "GEMINI_WRITE_SYSTEM_MD"),
        private_settings={
            "security": {"auth": {"selectedType": "$auth"}, "folderTrust": {"enabled": True}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "context": {"fileName": "pi-subagents.md", "includeDirectoryTree": False},
            "tools": {"shell": {"enableInteractiveShell": False}},  # it does not report what an interactive one prints
        },
        settings={
            "tools": {"core": "$offered_tools", "exclude": "$excluded_tools"},
            "model": {"maxSessionTurns": "$max_turns"},
        },
        settings_in=".gemini/settings.json",
        lost_inheriting={**_SETTINGS_OF_A_PROFILE, "tools": "tools", "no_tools": "noTools", "max_turns": "maxTurns"},
        key="GEMINI_API_KEY",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        login=("GEMINI_CLI_HOME:", ".gemini/oauth_creds.json", ".gemini/oauth_creds.json"),
        auth=(("GEMINI_API_KEY", "gemini-api-key"), ("GOOGLE_API_KEY", "vertex-ai"), ("", "oauth-personal")),
        log_in="run `gemini` once, or set GEMINI_API_KEY",
        sets_model=False,
        sets_mode=False,
        appended_in=f"{AGENT_HOME}/.gemini/pi-subagents.md",
        conversation_files=(f"{AGENT_HOME}/.gemini/tmp/*/chats/*.jsonl",),
        answered_by=b'"type":"gemini"',  # until then it finds no conversation there
        records_keys=True,
        aged=r"(?<=/session-)[0-9T-]{16}(?=-)",  # it overwrites a file named after the current minute
        honours=_ALWAYS | _INSTRUCTED | {"max_turns"},
        reports=frozenset({"diffs", "thinking"}),
        tools=_GEMINI_TOOLS,
        other_tools=_GEMINI_OTHER_TOOLS,
        name_in="id",
    ),
    "qwen": AcpAgent(
        arguments=("--acp",),
        options=(("-m", "$model"), ("--approval-mode", "$mode"), ("--include-directories", "$skill_folders")),
        variables={"QWEN_CODE_NO_RELAUNCH": "1", "QWEN_SYSTEM_MD": "$system_file"},
        private={"QWEN_HOME": "$home/.qwen"},
        unheard=("QWEN_SYSTEM_MD", "QWEN_SYSTEM_IDENTITY_MD", "QWEN_WRITE_SYSTEM_MD"),
        heeds_project="inheriting",
        private_settings={
            "security": {"auth": {"selectedType": "$auth"}, "folderTrust": {"enabled": True}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "context": {"fileName": "pi-subagents.md", "includeDirectoryTree": False},
            "agents": {"crossSessionMessaging": False},  # otherwise other sessions could send it messages
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False, "enableAutoSkill": False},
            "ui": {"enableFollowupSuggestions": False},
        },
        settings={"tools": {"exclude": "$excluded_tools"}},  # `core` would not restrict the agents that it may start
        settings_in=".qwen/settings.json",
        lost_inheriting=_SETTINGS_OF_A_PROFILE,
        key="OPENAI_API_KEY",
        keys=("OPENAI_API_KEY",),
        login=("QWEN_HOME:.qwen", "oauth_creds.json", ".qwen/oauth_creds.json"),
        auth=(("OPENAI_API_KEY", "openai"), ("", "qwen-oauth")),
        log_in="run `qwen` once, or set OPENAI_API_KEY and OPENAI_BASE_URL",
        sets_model=False,
        sets_mode=False,
        appended_in=f"{AGENT_HOME}/.qwen/pi-subagents.md",
        records_keys=True,
        honours=_ALWAYS | _INSTRUCTED - {"tools", "no_tools"},
        tools=_QWEN_TOOLS,
        other_tools=_QWEN_OTHER_TOOLS,
    ),
    "copilot": AcpAgent(
        arguments=(
            *("--acp", "--disable-builtin-mcps", "--no-auto-update", "--disable-client-telemetry"),
            "--secret-env-vars=COPILOT_PROVIDER_API_KEY,COPILOT_GITHUB_TOKEN",
        ),
        options=(("--model", "$model"),),
        shared=("XDG_CACHE_HOME",),
        private={"COPILOT_HOME": "$home"},  # it cannot be kept from reading the project's instructions
        unheard=("COPILOT_CUSTOM_INSTRUCTIONS_DIRS",),
        permissive=("COPILOT_ALLOW_ALL",),
        heeds_project="always",  # it runs the hooks in `.github`, whatever its settings say
        key="COPILOT_GITHUB_TOKEN",
        provider_key=("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY"),
        keys=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
        providers={"COPILOT_PROVIDER_BASE_URL": ""},
        # `copilot login` writes into a file of its directory that also names its plug-ins, so that is not linked.
        log_in="set GH_TOKEN, or run `copilot login` and write `inherit: true` into the profile",
        sets_model=False,
        honours=_ALWAYS,
        reports=frozenset({"diffs", "thinking", "progress", "context"}),
        tools=_KINDS,
        # It reports what happens as if it were the model's answer.
        errors=frozenset({"Error: No response was returned. Send your message again to retry."}),
        error_prefix="Error: ",
        notice_prefix="Info: ",
        notices=frozenset(
            {
                "Info: Operation cancelled by user",
                "Info: Request failed due to a transient API error. Retrying...",
                "Info: The conversation exceeded the model's context limit. Compacting history and retrying...",
            }
        ),
        retry_notice="Info: Response was interrupted due to a server error. Retrying...",
    ),
}
