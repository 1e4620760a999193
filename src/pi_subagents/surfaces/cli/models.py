"""`models`: which models an agent can be given here."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import click

from pi_subagents.delegation.program_facts import OfferedModels
from pi_subagents.errors import InvalidCall
from pi_subagents.place import Place
from pi_subagents.profiles import nearest_offered
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.text.wording import closest


@click.command()
@click.argument("search", default="")
@click.option("--json", "as_json", is_flag=True, help="Print {models, default} as JSON.")
def models(search: str, as_json: bool) -> None:
    """List the models that pi offers here, as PROVIDER/ID, for --model and for a profile's model.

    With SEARCH, only those whose name contains it. pi's default is marked. Exit code 1 if there are none.
    """
    place = Place.here()
    offered = OfferedModels(place, place.settings())
    if offered.problem:
        raise InvalidCall(f"No models: {offered.problem}.")
    found = [name for name in offered.names() if search.lower() in name.lower()]
    default = offered.default()
    if as_json:
        print_json({"models": found, "default": default})
        sys.exit(0 if found else 1)
    if not found:
        raise InvalidCall(f'No model matches "{search}".{_hint(search, offered.names())}')
    for name in found:
        echo(f"{name}  (default)" if name == default else name)


def _hint(search: str, names: Sequence[str]) -> str:
    """What was probably meant: a model, or a word that names of models have in them, such as `sonnet`."""
    words = dict.fromkeys(word for name in names for word in re.split(r"[^a-zA-Z]+", name) if word)
    meant = nearest_offered(search, names) or closest(search, words)
    return f' Did you mean "{meant}"?' if meant else " To list all of them: pi-subagents models"
