"""Path patterns as `pi` understands them: glob patterns of settings, and ignore files in skill directories.

Both are translated to regular expressions over `/`-separated paths. Extended globs such as `+(a|b)` are not
supported; braces are.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from pi_subagents.files import read_bounded

SKILL_FILE = "SKILL.md"
"""The file that makes a folder a skill."""
_IGNORE_FILES = (".gitignore", ".ignore", ".fdignore")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_EXPANDED = 1000
"""Twenty groups of two would be a million patterns."""


def expand_braces(pattern: str) -> list[str]:
    """Every pattern that the `{a,b}` groups of a pattern stand for; of one that stands for too many, the first."""
    expanded: list[str] = []
    waiting = [pattern]
    while waiting and len(expanded) < _MAX_EXPANDED:
        pattern = waiting.pop()
        found = _BRACES.search(pattern)
        if not found:
            expanded.append(pattern)
            continue
        before, after = pattern[: found.start()], pattern[found.end() :]
        waiting += [before + choice + after for choice in reversed(found.group(1).split(","))]
    return expanded


def matches_glob(path: str, pattern: str) -> bool:
    """Whether the whole path matches; wildcards do not match a leading dot."""
    return any(_compile(one, hidden=False).fullmatch(path) for one in expand_braces(pattern))


@lru_cache(maxsize=512)
def _compile(pattern: str, *, hidden: bool) -> re.Pattern[str]:
    any_segment = "[^/]+" if hidden else r"(?!\.)[^/]+"
    *folders, last = pattern.split("/")
    parts = [None if segment == "**" else f"{_segment(segment, hidden=hidden)}/" for segment in folders]
    tail = f"{any_segment}(?:/{any_segment})*" if last == "**" else _segment(last, hidden=hidden)
    # Ignore files are matched without regard to case, as pi's library does.
    flags = re.DOTALL | (re.IGNORECASE if hidden else 0)
    return re.compile(_with_gaps(parts, f"(?:{any_segment}/)") + tail, flags)


def _with_gaps(parts: Sequence[str | None], filling: str) -> str:
    """The parts one after the other; for each None, as much of `filling` as it takes.

    What lies between two gaps is matched at the first place where it fits and never again: trying all others, as
    a regular expression does by itself, would not find more, and takes for ever on a pattern that was made for it.
    """
    groups: list[list[str]] = [[]]
    for part in parts:
        if part is not None:
            groups[-1].append(part)
        elif groups[-1] or len(groups) == 1:
            groups.append([])
    first, *rest = ["".join(group) for group in groups]
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>{filling}*?{part})" for part in middle) + f"{filling}*{last}"


def _segment(text: str, *, hidden: bool) -> str:
    pieces: list[str | None] = []
    for token in re.findall(r"\\.|\[[!^]?\]?[^\]]*\]|\*+|\?|.", text, re.DOTALL):
        if token.startswith("*"):
            pieces += [None] if text != token else ["[^/]+"]
        elif token == "?":
            pieces.append("[^/]")
        elif token.startswith("[") and len(token) > 1:
            negated = token[1] in "!^"
            inner = token[2 if negated else 1 : -1].replace("\\", r"\\").replace("[", r"\[")
            pieces.append(f"[{'^/' if negated else ''}{inner}]")
        else:
            pieces.append(re.escape(token[-1]))
    guard = r"(?!\.)" if not hidden and text[:1] in ("*", "?", "[") else ""
    return guard + _with_gaps(pieces, "[^/]")


class _Rule(msgspec.Struct, frozen=True):
    pattern: re.Pattern[str]
    negated: bool
    folders_only: bool


class IgnoreRules(msgspec.Struct):
    """The ignore rules met so far below one root; the last rule that matches decides."""

    rules: list[_Rule] = msgspec.field(default_factory=list)

    def add_directory(self, directory: Path, prefix: str) -> None:
        """Take in a directory's ignore files; `prefix` is its path below the root with a final slash."""
        for name in _IGNORE_FILES:
            try:
                text = read_bounded(directory / name).decode("utf-8", errors="replace")
            except OSError:
                continue
            for line in text.split("\n"):
                self._add_line(line.removesuffix("\r"), prefix)

    def _add_line(self, line: str, prefix: str) -> None:
        if not line.strip() or line.strip().startswith("#"):
            return
        negated = line.startswith("!")
        pattern = line[1:] if negated or line.startswith("\\!") else line
        pattern = prefix + re.sub(r"(?<!\\) +$", "", pattern).removeprefix("/")
        folders_only = pattern.endswith("/")
        pattern = pattern.rstrip("/")
        if "/" not in pattern:
            pattern = f"**/{pattern}"
        try:
            self.rules.append(_Rule(_compile(pattern, hidden=True), negated, folders_only))
        except re.error:
            return

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the path or a folder above it is ignored."""
        parts = path.split("/")
        return any(
            self._decide("/".join(parts[:count]), is_folder or count < len(parts)) for count in range(1, len(parts) + 1)
        )

    def _decide(self, path: str, is_folder: bool) -> bool:
        for rule in reversed(self.rules):
            if (is_folder or not rule.folders_only) and rule.pattern.fullmatch(path):
                return not rule.negated
        return False


def is_override(entry: str) -> bool:
    """Whether an entry switches files on or off instead of naming a place."""
    return entry.startswith(("!", "+", "-"))


def has_wildcard(entry: str) -> bool:
    return "*" in entry or "?" in entry


def select(files: Sequence[Path], patterns: Iterable[str], base: Path) -> list[Path]:
    """The files that patterns leave: plain ones include, `!` excludes, `+` and `-` decide for exact paths."""
    patterns = list(patterns)
    includes = [pattern for pattern in patterns if not is_override(pattern)]
    chosen = [file for file in files if not includes or _matches_any(file, includes, base)]
    chosen = [file for file in chosen if not _matches_any(file, _with_sign("!", patterns), base)]
    forced = _with_sign("+", patterns)
    chosen += [file for file in files if file not in chosen and _is_any(file, forced, base)]
    return [file for file in chosen if not _is_any(file, _with_sign("-", patterns), base)]


def select_delta(files: Sequence[Path], patterns: Iterable[str], base: Path) -> dict[Path, bool]:
    """Only the files that some pattern names, each switched on or off by the last one that does."""
    decided: dict[Path, bool] = {}
    for pattern in patterns:
        target = pattern[1:] if is_override(pattern) else pattern
        matcher = _is_any if pattern.startswith(("+", "-")) else _matches_any
        for file in files:
            if matcher(file, [target], base):
                decided[file] = not pattern.startswith(("-", "!"))
    return decided


def _with_sign(sign: str, patterns: Iterable[str]) -> list[str]:
    return [pattern[1:] for pattern in patterns if pattern.startswith(sign)]


def _names(file: Path, base: Path) -> tuple[list[str], list[str]]:
    """What exact patterns and what globs may call a file; a SKILL.md also answers to its folder."""
    exact, globs = [], []
    for path in (file, file.parent) if file.name == SKILL_FILE else (file,):
        relative = os.path.relpath(path, base)
        exact += [relative, str(path)]
        globs += [relative, str(path), path.name]
    return exact, globs


def _matches_any(file: Path, patterns: Sequence[str], base: Path) -> bool:
    names = _names(file, base)[1]
    return any(matches_glob(name, pattern) for pattern in patterns for name in names)


def _is_any(file: Path, patterns: Sequence[str], base: Path) -> bool:
    names = _names(file, base)[0]
    return any(pattern.removeprefix("./") in names for pattern in patterns)
