"""The name under which programs of 0.1.0 that are still running start the queue after an upgrade."""

from __future__ import annotations

from pi_subagents.background.queue import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
