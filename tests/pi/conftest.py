"""Tests with the real pi."""

from __future__ import annotations

from tests.pi.fixtures import pi, play

__all__ = ["pi", "play"]
