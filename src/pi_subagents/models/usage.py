"""What a run has cost so far."""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Tokens and money of one or several model answers; adding two gives their sum."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total_tokens: int = 0
    cost: float = 0.0

    def to_json(self) -> dict[str, float]:
        """Every figure under the name that `pi` has for it, zeros too."""
        return {field.encode_name: getattr(self, field.name) for field in msgspec.structs.fields(Usage)}

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.total_tokens + other.total_tokens,
            self.cost + other.cost,
        )
