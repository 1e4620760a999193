"""What Python keeps compiled of us, so that no command has to compile it again."""

from __future__ import annotations

import compileall
from importlib.util import find_spec
from pathlib import Path

_NEEDED_BY_ALL = ("pi_subagents", "click", "msgspec")


def keep_compiled(packages: tuple[str, ...] = _NEEDED_BY_ALL) -> None:
    """Compile what every command loads, even if PYTHONDONTWRITEBYTECODE is set; does nothing where that is not allowed.

    pip compiles what it installs. Other installers, and an editable installation, leave it to the first start; where
    that may not keep it, every start would compile everything, which takes three times as long as the start itself.
    """
    for spec in filter(None, map(find_spec, packages)):
        for folder in spec.submodule_search_locations or ():
            compileall.compile_dir(Path(folder), quiet=2)
