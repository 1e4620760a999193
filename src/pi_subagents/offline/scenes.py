"""The demo's play: three tasks for two profiles, and what the offline model says while real tools work.

The tasks ask for what every Python project with a README.md, a pyproject.toml and a src/ directory has, so
they run in a clone of this repository and in the sample project. Every answer quotes what the tools returned.
"""

from __future__ import annotations

from dataclasses import dataclass

from pi_subagents.offline.findings import entries, first_heading, largest_file, matches_per_file, setting
from pi_subagents.offline.request import Request
from pi_subagents.offline.script import Call, Script, Turn

SCOUT_PROFILE = """\
---
name: scout
tools: read,grep,find,ls
---

You explore a project quickly and change nothing. Look before you speak, and answer in a few short sentences
that name files.
"""

REVIEWER_PROFILE = """\
---
name: reviewer
thinkingLevel: low
tools: [read, bash, ls, grep]
---

You review a project. Measure instead of guessing, and put the most important finding first.
"""

DEMO_PROFILES = {"scout": SCOUT_PROFILE, "reviewer": REVIEWER_PROFILE}
"""Profile name to profile file."""


@dataclass(frozen=True, slots=True)
class DemoTask:
    """One task of the demo, as plain data."""

    name: str
    prompt: str
    profile: str


MAP_TASK = DemoTask(
    "map the project",
    "Draw a newcomer a map of this project: what it is, and what lies where.",
    "scout",
)
ERRORS_TASK = DemoTask(
    "trace the errors",
    "Find the places under src/ that raise an exception, and name the file that raises most often.",
    "scout",
)
SIZE_TASK = DemoTask(
    "review the packaging",
    "Review pyproject.toml and the size of the sources, and say which file you would look at first.",
    "reviewer",
)
DEMO_TASKS = (MAP_TASK, ERRORS_TASK, SIZE_TASK)

_COUNT_LINES = "find src -name '*.py' -exec wc -l {} + | sort -rn | head -4"


def demo_script() -> Script:
    """The script that answers the three tasks; anything else that is asked gets a pointer to them."""
    script = Script().otherwise([_conclude("I know only the three tasks of the demo.", seconds=1.0)])
    script = script.when(MAP_TASK.prompt, [_open_map(), _widen_map(), _answer_map])
    script = script.when(ERRORS_TASK.prompt, [_open_errors(), _look_closer, _answer_errors])
    return script.when(SIZE_TASK.prompt, [_open_size(), _measure_size(), _answer_size])


def _act(thinking: str, text: str, *calls: Call) -> Turn:
    """A turn that ends in tool calls: about two seconds, long enough to be read while it streams."""
    return Turn(text, calls, thinking, delay_s=0.3, chunks=12, chunk_delay_s=0.07)


def _conclude(text: str, *, seconds: float) -> Turn:
    """A final answer that takes this time to stream, however long it is."""
    return Turn(text, delay_s=0.3, chunks=36, chunk_delay_s=seconds / 36)


def _open_map() -> Turn:
    calls = Call("ls", {"path": "."}), Call("read", {"path": "README.md", "limit": 20})
    return _act("The README says what it wants to be; the tree, what it is.", "The outline first.", *calls)


def _widen_map() -> Turn:
    calls = Call("ls", {"path": "src"}), Call("grep", {"pattern": "^name = ", "path": "pyproject.toml"})
    return _act("The code comes next, and the name it is published under.", "Now the sources.", *calls)


def _answer_map(request: Request) -> Turn:
    top, readme, sources, name = (result.text for result in request.tool_results[:4])
    return _conclude(
        f"**{first_heading(readme)}**, published as {setting('name', name)}.\n\n"
        f"- top level: {', '.join(entries(top))}\n- src/: {', '.join(entries(sources))}\n\n"
        "Start with README.md, then open src/.",
        seconds=2.4,
    )


def _open_errors() -> Turn:
    call = Call("grep", {"pattern": r"^\s*raise\b", "path": "src", "glob": "*.py", "limit": 500})
    return _act("A statement that raises begins its line, so one pattern is enough.", "I search src/.", call)


def _look_closer(request: Request) -> Turn:
    counts = matches_per_file(request.tool_results[0].text)
    if not counts:
        call = Call("ls", {"path": "src"})
        return _act("No match is a finding too, if the directory is the right one.", "Nothing there?", call)
    path = f"src/{counts[0][0]}"
    call = Call("read", {"path": path, "limit": 30})
    return _act("The number alone says little; I want to see the file.", f"Most are in {path}.", call)


def _answer_errors(request: Request) -> Turn:
    search, look = request.tool_results[:2]
    counts = matches_per_file(search.text)
    if not counts:
        return _conclude(f"The search gave no place; it said: {search.text.strip()}", seconds=2.0)
    places = "\n".join(f"- src/{path}: {count}" for path, count in counts[:3])
    return _conclude(
        f"{sum(count for _, count in counts)} places in {len(counts)} files raise:\n\n{places}\n\n"
        f"The first of these files begins with: {look.text.strip().splitlines()[0]}",
        seconds=2.8,
    )


def _open_size() -> Turn:
    call = Call("read", {"path": "pyproject.toml", "limit": 60})
    return _act("What the package promises stands in one file.", "I read pyproject.toml.", call)


def _measure_size() -> Turn:
    calls = Call("bash", {"command": _COUNT_LINES}), Call("ls", {"path": "src"})
    return _act("Long files are where a review pays off; I count, I do not guess.", "Now the sizes.", *calls)


def _answer_size(request: Request) -> Turn:
    packaging, sizes = (result.text for result in request.tool_results[:2])
    largest = largest_file(sizes)
    advice = "Look first at {}, {} lines.".format(*largest) if largest else "I found no source file."
    return _conclude(
        f"{advice}\n\nThe package is called {setting('name', packaging)} and asks for Python "
        f"{setting('requires-python', packaging)}. The count, as `wc` gave it:\n\n{sizes.strip()}",
        seconds=3.2,
    )
