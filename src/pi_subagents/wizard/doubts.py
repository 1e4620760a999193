"""Words that nobody knows here are asked about once more: most of them are misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pi_subagents.wizard.questions import Questions

AGAIN = "Type it again"


async def settle(questions: Questions, title: str, doubtful: Mapping[str, str | None]) -> dict[str, str] | None:
    """What to write for each doubtful word, of which it is known what was probably meant; None: ask for them again."""
    keep = f"Keep {_quote(doubtful)}"
    meant = {word: better for word, better in doubtful.items() if better is not None}
    take = f"Use {_quote(meant.values())}"
    hint = f"Did you mean {_quote(meant.values())}?" if meant else "Use it anyway?"
    ways = [*([take] if meant else []), AGAIN, keep]
    choice = await questions.select(f"{title}\nNot known here: {_quote(doubtful)}. {hint}", ways, initial=ways[0])
    if choice == AGAIN:
        return None
    return {word: meant.get(word, word) if choice == take else word for word in doubtful}


def _quote(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)
