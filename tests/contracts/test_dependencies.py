"""One install has everything: what the package imports comes with its dependencies, not with an extra."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from tests.contracts.source_tree import PACKAGE, When, read_source_tree

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def brought_by(names: set[str]) -> set[str]:
    """These distributions and all that come with them, as far as they are installed here."""
    found: set[str] = set()
    while names:
        found |= names
        names = {need for name in names for need in needs_of(name)} - found
    return found


def needs_of(name: str) -> set[str]:
    try:
        return {name_of(one) for one in requires(name) or [] if "extra ==" not in one}
    except PackageNotFoundError:  # needed on other systems only
        return set()


def test_whatever_is_imported_comes_with_a_plain_install() -> None:
    tree = read_source_tree(ROOT / "src" / PACKAGE)
    tops = {
        found.target.partition(".")[0]
        for module in tree.modules
        for found in module.imports
        if found.when is not When.TYPING
    }
    foreign = tops - sys.stdlib_module_names - {PACKAGE}
    homes = packages_distributions()
    brought = brought_by({name_of(one) for one in PROJECT["dependencies"]})
    missing = {top for top in foreign if not brought & {name_of(home) for home in homes.get(top, [])}}
    assert {"mcp", "textual"} <= foreign
    assert missing == set()


def test_the_names_of_former_extras_still_install() -> None:
    assert PROJECT["optional-dependencies"] == {"mcp": [], "watch": []}
