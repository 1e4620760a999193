"""What programs may import from the package, pinned: a name that goes or comes is a decision, not an accident."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import pi_subagents
from pi_subagents import Event

PUBLIC = [
    *("AgentNotFound", "Delegation", "Event", "FileSlice", "InvalidCall", "PiSubagentsError", "Profile"),
    *("ProfileError", "Reason", "Run", "RunResult", "RunState", "RunUpdate", "Session", "SessionBusy"),
    *("SessionNotFound", "SettingsError", "Status", "StoreError", "Task", "Usage", "delegate", "sessions"),
]


def test_the_public_names_are_these() -> None:
    assert pi_subagents.__all__ == PUBLIC


@pytest.mark.parametrize("name", pi_subagents.__all__)
def test_every_public_name_is_there_and_found_by_completion(name: str) -> None:
    assert getattr(pi_subagents, name).__name__ == name
    assert name in dir(pi_subagents)


def test_what_public_functions_take_and_give_can_be_imported_too() -> None:
    """Except by the constructor of Delegation, which is for the surfaces of this package: programs call `delegate`."""
    missing = {
        f"{owner}: {found.__name__}"
        for owner, function in _public_functions()
        for hint in get_type_hints(function).values()
        for found in _classes_in(hint)
        if found.__module__.startswith("pi_subagents.")
        and not issubclass(found, Event)
        and found.__name__ not in PUBLIC
    }
    assert not missing


def _public_functions() -> Iterator[tuple[str, Any]]:
    for name in PUBLIC:
        value = getattr(pi_subagents, name)
        if not isinstance(value, type):
            yield name, value
            continue
        for member, found in vars(value).items():
            function = getattr(found, "__func__", getattr(found, "fget", getattr(found, "func", found)))
            if inspect.isfunction(function) and not member.startswith("_") and not issubclass(value, Event):
                yield f"{name}.{member}", function


def _classes_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and not get_args(hint):
        yield hint
    for part in get_args(hint):
        yield from _classes_in(part)


def test_another_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'delegat'"):
        pi_subagents.delegat  # noqa: B018


def test_every_error_of_the_package_has_the_same_root() -> None:
    errors = [
        name
        for name in PUBLIC
        if isinstance(value := getattr(pi_subagents, name), type) and issubclass(value, Exception)
    ]
    assert all(issubclass(getattr(pi_subagents, name), pi_subagents.PiSubagentsError) for name in errors)
    assert len(errors) == 8


def test_the_package_is_typed() -> None:
    assert (Path(pi_subagents.__file__).parent / "py.typed").is_file()


def test_importing_the_package_loads_nothing_else_of_it() -> None:
    code = "import sys, pi_subagents; print([m for m in sys.modules if m.startswith('pi_subagents.')])"
    home = str(Path(pi_subagents.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": home}, capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
