"""`completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click

from pi_subagents.surfaces.cli.output import echo_text


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash:  pi-subagents completion bash > ~/.local/share/bash-completion/completions/pi-subagents
    zsh:   pi-subagents completion zsh > "${fpath[1]}/_pi-subagents"
    fish:  pi-subagents completion fish > ~/.config/fish/completions/pi-subagents.fish
    """
    from click.shell_completion import get_completion_class

    from pi_subagents.surfaces.cli.app import app

    completer = get_completion_class(shell)
    assert completer is not None
    echo_text(completer(app, {}, "pi-subagents", "_PI_SUBAGENTS_COMPLETE").source())
