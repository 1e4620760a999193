"""Figures, paths and names as people read and write them: how long ago, how many, `~/notes`, which name was meant."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

_UNITS = (("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))


def duration(seconds: float) -> str:
    """`0.4s`, `42.0s`, `3m 12s`, `2h 5m`: the two largest units."""
    if seconds < 60:
        return f"{max(seconds, 0):.1f}s"
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60}m"
    return f"{whole // 86_400}d {whole % 86_400 // 3600}h"


def age(milliseconds: float) -> str:
    """`5s`, `3m`, `2h`, `4d`, `9w`: one unit, rounded down."""
    seconds = max(int(milliseconds / 1000), 0)
    unit, length = next(((unit, length) for unit, length in _UNITS if seconds >= length), _UNITS[-1])
    return f"{seconds // length}{unit}"


def age_of(at: int | None, now_ms: int) -> str:
    """How long ago a moment was; `–` where it is not known."""
    return "–" if at is None else age(now_ms - at)


def money(cost: float, *, is_all: bool = True) -> str:
    """`$0.0042`: most runs cost less than a cent. `$0.0042+` or `unknown` if not all of it is known."""
    return _as_far_as_known(cost, f"${cost:.4f}", is_all=is_all)


def cost_words(cost: float, *, is_all: bool = True) -> str:
    """The same, but `cost unknown` instead of `unknown`, for places without a label."""
    words = money(cost, is_all=is_all)
    return f"cost {words}" if words == "unknown" else words


def token_count(tokens: int, *, is_all: bool = True) -> str:
    """`12,345`; `12,345+` or `unknown` if not all of them are known."""
    return _as_far_as_known(tokens, f"{tokens:,}", is_all=is_all)


def token_words(tokens: int, *, is_all: bool = True) -> str:
    """`12,345 tokens` or `tokens unknown`, for places without a label."""
    count = token_count(tokens, is_all=is_all)
    return f"tokens {count}" if count == "unknown" else f"{count} tokens"


def _as_far_as_known(amount: float, figure: str, *, is_all: bool) -> str:
    if is_all:
        return figure
    return f"{figure}+" if amount else "unknown"


def short_count(number: int) -> str:
    """`854`, `2.1k`, `35k`, `1.2M`: as exact as a glance needs."""
    for unit, size in (("M", 1_000_000), ("k", 1000)):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 10 * size else f"{number // size}{unit}"
    return str(number)


def data_size(size: int) -> str:
    """`812 B`, `14 kB`, `3.2 MB`."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} kB"
    return f"{size / 1_000_000:.1f} MB" if size < 1_000_000_000 else f"{size / 1_000_000_000:.1f} GB"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def shorten_path(path: str, *, cwd: str | None = None, home: str | None = None) -> str:
    """The shortest of a path's forms: as it was given, which wins a tie, from `~`, and from the agent's directory.

    Purely textual, as the agent may work on another machine: nothing is resolved or looked up.
    """
    forms = (path, _under_home(path, home), _relative(path, cwd))
    return min((form for form in forms if form is not None), key=len)


def same_directory(path: str, cwd: str, home: str | None) -> bool:
    """Whether `path`, as written in a command, names `cwd`."""
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(cwd, path)) == posixpath.normpath(cwd)


def _under_home(path: str, home: str | None) -> str | None:
    home = home.rstrip("/") if home else None
    if not home or not (path == home or path.startswith(home + "/")):
        return None
    return "~" + path[len(home) :]


def _relative(path: str, cwd: str | None) -> str | None:
    # With `..` inside, the text alone does not say where a path leads: the part before it may be a link.
    if not cwd or not path.startswith("/") or not cwd.startswith("/") or ".." in path.split("/"):
        return None
    relative = posixpath.relpath(path, cwd)
    return relative + "/" if path.endswith("/") and relative != "." else relative


_LIKENESS = 0.65
"""Below it a suggestion puzzles more than it helps."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, if one is; upper case, `-` and `_` make no difference."""
    from difflib import get_close_matches  # only those who mistype pay for it

    folded = {_fold(name): name for name in reversed(list(known))}
    close = get_close_matches(_fold(word.strip()), folded, n=1, cutoff=_LIKENESS)
    return folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question as a sentence to append, with a blank before it; nothing where no name comes close."""
    name = closest(word, known)
    return f' Did you mean "{name}"?' if name is not None else ""


def _fold(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
