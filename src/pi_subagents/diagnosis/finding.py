"""What a check found out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pi_subagents.diagnosis.situation import Situation


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about this machine. Sub-agents cannot run while something `needed` is not `ok`."""

    check: str
    ok: bool
    detail: str
    hint: str = ""
    needed: bool = False

    @property
    def mark(self) -> str:
        """✓, ✗ for something needed, ! for the rest."""
        if self.ok:
            return "✓"
        return "✗" if self.needed else "!"

    def to_json(self) -> dict[str, Any]:
        """The finding for programs."""
        return {
            "check": self.check,
            "ok": self.ok,
            "needed": self.needed,
            "detail": self.detail,
            "hint": self.hint,
        }


Check = Callable[[Situation], Iterable[Finding]]
