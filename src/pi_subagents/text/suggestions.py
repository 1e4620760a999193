"""Which known name somebody probably meant who wrote an unknown one."""

from __future__ import annotations

from collections.abc import Iterable

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
