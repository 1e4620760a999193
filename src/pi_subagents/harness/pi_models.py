"""What `pi --list-models` says: a table for people, with a provider and a model in each row."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^provider +model .*\n", re.MULTILINE)

LIST_MODELS = "--list-models"


def parse_models(table: str) -> tuple[str, ...]:
    """The models as `provider/id`, in the order of the table; none if there is no table."""
    header = _HEADER.search(table)
    rows = table[header.end() :].splitlines() if header else []
    pairs = [row.split()[:2] for row in rows]
    return tuple(dict.fromkeys("/".join(pair) for pair in pairs if len(pair) == 2))
