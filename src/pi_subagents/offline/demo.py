"""The demo's play: three tasks for two profiles, and what the offline model says while real tools work.

The tasks ask for what every Python project with a README.md, a pyproject.toml and a src/ directory has, so
they run in a clone of this repository and in the sample project, which is for where there is none. Every answer
quotes what the tools returned. A tool may have failed (no `rg` on the PATH, an empty directory): each function that
reads its text has an answer for that too.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from pi_subagents.offline.request import Request
from pi_subagents.offline.script import Call, Script, Turn

DEMO_PROFILES = {
    "scout": """\
---
name: scout
tools: read,grep,find,ls
---

You explore a project quickly and change nothing. Look before you speak, and answer in a few short sentences
that name files.
""",
    "reviewer": """\
---
name: reviewer
thinkingLevel: low
tools: [read, bash, ls, grep]
---

You review a project. Measure instead of guessing, and put the most important finding first.
""",
}
"""Profile name to profile file."""


@dataclass(frozen=True, slots=True)
class DemoTask:
    """One task of the demo, as plain data."""

    name: str
    prompt: str
    profile: str


MAP_TASK = DemoTask(
    "map the project", "Draw a newcomer a map of this project: what it is, and what lies where.", "scout"
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


def demo_script() -> Script:
    """The script that answers the three tasks; anything else that is asked gets a pointer to them."""
    script = Script().otherwise([_conclude("I know only the three tasks of the demo.", seconds=1.0)])
    return (
        script.when(MAP_TASK.prompt, [_OPEN_MAP, _WIDEN_MAP, _answer_map])
        .when(ERRORS_TASK.prompt, [_SEARCH_ERRORS, _look_closer, _answer_errors])
        .when(SIZE_TASK.prompt, [_OPEN_PACKAGING, _MEASURE_SIZE, _answer_size])
    )


def _act(thinking: str, text: str, *calls: Call) -> Turn:
    """A turn that ends in tool calls: about two seconds, long enough to be read while it streams."""
    return Turn(text, calls, thinking, delay_s=0.3, chunks=12, chunk_delay_s=0.07)


def _conclude(text: str, *, seconds: float) -> Turn:
    """A final answer that takes this time to stream, however long it is."""
    return Turn(text, delay_s=0.3, chunks=36, chunk_delay_s=seconds / 36)


_OPEN_MAP = _act(
    "The README says what it wants to be; the tree, what it is.",
    "The outline first.",
    Call("ls", {"path": "."}),
    Call("read", {"path": "README.md", "limit": 20}),
)
_WIDEN_MAP = _act(
    "The code comes next, and the name it is published under.",
    "Now the sources.",
    Call("ls", {"path": "src"}),
    Call("grep", {"pattern": "^name = ", "path": "pyproject.toml"}),
)
_SEARCH_ERRORS = _act(
    "A statement that raises begins its line, so one pattern is enough.",
    "I search src/.",
    Call("grep", {"pattern": r"^\s*raise\b", "path": "src", "glob": "*.py", "limit": 500}),
)
_OPEN_PACKAGING = _act(
    "What the package promises stands in one file.",
    "I read pyproject.toml.",
    Call("read", {"path": "pyproject.toml", "limit": 60}),
)
_MEASURE_SIZE = _act(
    "Long files are where a review pays off; I count, I do not guess.",
    "Now the sizes.",
    Call("bash", {"command": "find src -name '*.py' -exec wc -l {} + | sort -rn | head -4"}),
    Call("ls", {"path": "src"}),
)


def _answer_map(request: Request) -> Turn:
    top, readme, sources, name = (result.text for result in request.tool_results[:4])
    return _conclude(
        f"**{first_heading(readme)}**, published as {setting('name', name)}.\n\n"
        f"- top level: {', '.join(entries(top))}\n- src/: {', '.join(entries(sources))}\n\n"
        "Start with README.md, then open src/.",
        seconds=2.4,
    )


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


def _answer_size(request: Request) -> Turn:
    packaging, sizes = (result.text for result in request.tool_results[:2])
    largest = largest_file(sizes)
    advice = "Look first at {}, {} lines.".format(*largest) if largest else "I found no source file."
    return _conclude(
        f"{advice}\n\nThe package is called {setting('name', packaging)} and asks for Python "
        f"{setting('requires-python', packaging)}. The count, as `wc` gave it:\n\n{sizes.strip()}",
        seconds=3.2,
    )


_MATCH = re.compile(r"^(?P<path>[^\s:]+):\d+: ", re.MULTILINE)
_COUNT = re.compile(r"^\s*(?P<lines>\d+) (?P<path>\S.*\.py)$", re.MULTILINE)
_HEADING = re.compile(r"^#+ +(?P<title>.+)$", re.MULTILINE)
_MAX_ENTRIES = 12


def entries(listing: str) -> list[str]:
    """The visible names in an `ls` result, shortened to a dozen."""
    names = [line for line in listing.splitlines() if line and not line.startswith((".", "["))]
    return names if len(names) <= _MAX_ENTRIES else [*names[:_MAX_ENTRIES], "…"]


def first_heading(markdown: str) -> str:
    """The first heading of a Markdown text."""
    found = _HEADING.search(markdown)
    return found["title"].strip() if found else "a project without a heading"


def setting(key: str, toml: str) -> str:
    """The string value of a key in a TOML text, or in a `grep` result that quotes its line."""
    found = re.search(rf'(?:^|\s){re.escape(key)} = "([^"]*)"', toml)
    return found[1] if found else "(not stated)"


def matches_per_file(search: str) -> list[tuple[str, int]]:
    """Files in a `grep` result with their number of matches, most first."""
    counts = Counter(found["path"] for found in _MATCH.finditer(search))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def largest_file(counts: str) -> tuple[str, int] | None:
    """The Python file with most lines in the output of `wc -l`."""
    sizes = [(found["path"], int(found["lines"])) for found in _COUNT.finditer(counts)]
    return max(sizes, key=lambda size: size[1], default=None)


_SAMPLE_FILES = {
    "README.md": """\
        # Tea timer

        Counts down while the tea draws, and says when to take the leaves out.

        ```
        python -m tea_timer green
        ```
        """,
    "pyproject.toml": """\
        [project]
        name = "tea-timer"
        version = "0.1.0"
        description = "Counts down while the tea draws"
        requires-python = ">=3.11"
        dependencies = []
        """,
    "src/tea_timer/__init__.py": '''\
        """Counts down while the tea draws."""
        ''',
    "src/tea_timer/kinds.py": '''\
        """How long each kind of tea draws."""

        SECONDS = {"black": 240, "green": 120, "white": 300}


        class UnknownTea(LookupError):
            """Nobody has said how long this tea draws."""


        def seconds_for(kind: str) -> int:
            """How long this kind draws; raises UnknownTea."""
            if not kind:
                raise UnknownTea("name a tea: black, green or white")
            if kind not in SECONDS:
                raise UnknownTea(f"unknown tea: {kind}")
            return SECONDS[kind]
        ''',
    "src/tea_timer/__main__.py": '''\
        """The command: one argument, the kind of tea."""

        import sys
        import time

        from tea_timer.kinds import seconds_for


        def main(arguments: list[str]) -> None:
            """Wait as long as the tea takes."""
            if len(arguments) != 1:
                raise SystemExit("usage: tea_timer KIND")
            time.sleep(seconds_for(arguments[0]))
            print("Take the leaves out.")


        if __name__ == "__main__":
            main(sys.argv[1:])
        ''',
}


def write_sample_project(directory: Path) -> Path:
    """Write the sample project into a directory, which is made if it is missing, and return it."""
    for name, text in _SAMPLE_FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return directory


def suits_demo(directory: Path) -> bool:
    """Whether the demo's tasks find what they ask for in this directory."""
    files = (directory / "README.md", directory / "pyproject.toml")
    return all(path.is_file() for path in files) and (directory / "src").is_dir()
