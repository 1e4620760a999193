"""What a run has cost so far."""

from __future__ import annotations

import msgspec

MAX_FIGURE = 2**53
"""No true figure is larger; every JSON reader can hold it, and SQLite a thousand times as much."""


def bounded(figure: float | None) -> float:
    """A figure that somebody else worked out, within reason: what is negative or no number counts as nothing."""
    if figure is None or figure != figure:
        return 0
    return min(max(figure, 0), MAX_FIGURE)


class Usage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Tokens and money of one or several model answers; adding two gives their sum, which is always within bounds."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: float = 0.0

    @classmethod
    def of(cls, *figures: float | None) -> Usage:
        """The figures in the order of the fields, each of them bounded: an agent or an old record may say anything."""
        *tokens, cost = map(bounded, figures)
        return msgspec.structs.replace(cls(*map(int, tokens)), cost=float(cost))

    def to_json(self) -> dict[str, float]:
        """Every figure under the name that `pi` has for it, zeros too."""
        return {said: getattr(self, name) for name, said in _NAMES.items()}

    def __add__(self, other: Usage) -> Usage:
        return Usage.of(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.total_tokens + other.total_tokens,
            self.cost + other.cost,
        )


_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Usage)}
