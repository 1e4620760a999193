"""TypeScript that `pi` loads. It registers, forwards and paints; every decision is made in Python."""

from pathlib import Path

API_KEY_EXTENSION = Path(__file__).with_name("api-key.ts")
"""Hands a profile's key to the provider and takes it out of the environment that tools inherit."""
