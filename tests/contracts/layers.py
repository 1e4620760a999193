"""The rooms of the package, layer by layer, with what each is for; `CONTRIBUTING.md` shows them as a drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.contracts.handbook import ROOT
from tests.contracts.source_tree import PACKAGE

CONTRIBUTING = ROOT / "CONTRIBUTING.md"

# A module imports from its own layer and from those below it.
LAYERS: Mapping[int, Mapping[str, str]] = {
    7: {"__main__": "`python -m pi_subagents`"},
    6: {
        "surfaces": "ways in: command line, live view, watch, MCP, pi; only the command line starts others",
        "": "the functions for Python programs, a way in as well",
        "conformance": "what every agent must do, checked with its real program and the scripted model",
    },
    5: {
        "tools": "what a model can call: schema, checks, result",
        "delegation": "from tasks to runs: plan, prepare, queue, see through",
        "background": "runs that outlive whoever started them",
        "diagnosis": "what `doctor` checks",
        "installing": "writes into the configurations of hosts",
        "wizard": "`/profile` without its widgets",
    },
    4: {
        "supervisor": "drives one run from its start to its end",
        "agents": "the pool of agent processes, warm ones too",
        "runs": "what was run: found, read, followed, spoken to, deleted",
    },
    3: {
        "runners": "agent processes: started, contained, stopped",
        "processes": "other processes, and the signals that reach us",
        "store": "the record on disk: journal, lease, index",
    },
    2: {
        "harness": "agent programs, and how to speak to them",
        "fold": "from events to the state of a run",
        "outcome": "how a run ended",
        "progress": "what people see of a run: words, previews, windows",
        "export": "sessions as Markdown and HTML",
        "profiles": "profiles and presets",
        "skills": "skills, found as pi finds them",
        "settings": "what the user has set",
        "trust": "what a project's files may do",
        "place": "where a call comes from",
        "redaction": "takes secrets out of what is written",
    },
    1: {
        "models": "tasks, profiles, runs and events as data",
        "errors": "the exceptions a caller can see",
        "text": "width, wrapping, figures, harmless text",
        "jsonl": "bytes to records",
        "encoding": "values to JSON and back",
        "files": "files that somebody else may have put there",
        "trees": "folders that we write into",
        "paths": "where things are",
        "clock": "where time comes from",
        "lazy": "names that are loaded when they are first used",
        "examples": "presets to copy",
        "extension": "the TypeScript that pi loads",
    },
}
# These stand beside the layers: they use layers 1 and 2, and only surfaces use them.
ASIDE: Mapping[str, str] = {
    "offline": "a scripted model in the place of a provider",
    "testing": "fakes for tests, ours and those of our users",
}
ASIDE_USES_UP_TO = 2
ASIDE_IS_USED_FROM = 6

_BEGINNING = "```layers\n"
_END = "```\n"


def drawing(source: Path = ROOT / "src" / PACKAGE) -> str:
    """One line for every room, the highest layer first."""
    lines = [line for number in sorted(LAYERS, reverse=True) for line in _layer(str(number), LAYERS[number], source)]
    return "\n".join([*lines, *_layer("-", ASIDE, source)]) + "\n"


def _layer(number: str, rooms: Mapping[str, str], source: Path) -> Iterator[str]:
    for position, (room, purpose) in enumerate(rooms.items()):
        is_module = not room or (source / f"{room}.py").is_file()
        name = (room or PACKAGE) if is_module else f"{room}/"
        yield f"{number if position == 0 else ' '}  {name:<13} {purpose}"


def with_drawing(page: str) -> str:
    """The page with the drawing in its block."""
    before, _, rest = page.partition(_BEGINNING)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGINNING}{drawing()}{_END}{after}"
