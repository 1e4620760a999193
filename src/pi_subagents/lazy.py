"""Less to load: names of a package when they are first used, and libraries without what they only look for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def without(*libraries: str) -> Iterator[None]:
    """Whatever is loaded in the block does without these, as it does where they are not installed."""
    hidden = [name for name in libraries if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] # None is how Python marks what is not there
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def names_from(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for the package; `homes` has the names that each of its modules is home to."""
    module_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    return load
