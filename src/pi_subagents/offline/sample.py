"""A tiny Python project for the demo to work on where there is no clone of this repository."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

_FILES = {
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
    for name, text in _FILES.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return directory


def suits_demo(directory: Path) -> bool:
    """Whether the demo's tasks find what they ask for in this directory."""
    files = (directory / "README.md", directory / "pyproject.toml")
    return all(path.is_file() for path in files) and (directory / "src").is_dir()
