"""Values that hold secrets, and never show them."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec


class Discreet(msgspec.Struct, frozen=True):
    """A struct that logs and tracebacks show without the fields that hold secrets, those of `rich` included."""

    _hidden: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self._hidden]
