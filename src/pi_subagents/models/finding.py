"""What a check of this machine found out, for `doctor`."""

from __future__ import annotations

from typing import Any

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One fact about this machine. Its agent, or every agent, cannot run while something `needed` is not `ok`."""

    check: str
    ok: bool
    detail: str
    hint: str = ""
    needed: bool = False
    is_absent: bool = False
    """It is not there, which is in order: people may do without."""
    agent: str | None = None
    """The agent that it is about; None if it concerns all of them."""

    @property
    def mark(self) -> str:
        """✓, ✗ for something needed, ! for the rest; - for what people do without."""
        if self.ok:
            return "-" if self.is_absent else "✓"
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
