"""`completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click

from pi_subagents.surfaces.cli.output import echo_text


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    To load it in every new shell:

    \b
    bash:
      mkdir -p ~/.local/share/pi-subagents
      pi-subagents completion bash > ~/.local/share/pi-subagents/completion.bash
      echo 'source ~/.local/share/pi-subagents/completion.bash' >> ~/.bashrc

    \b
    zsh:
      mkdir -p ~/.zfunc
      pi-subagents completion zsh > ~/.zfunc/_pi-subagents
      echo 'fpath=(~/.zfunc $fpath); autoload -Uz compinit && compinit' >> ~/.zshrc

    \b
    fish:
      mkdir -p ~/.config/fish/completions
      pi-subagents completion fish > ~/.config/fish/completions/pi-subagents.fish
    """
    from pi_subagents.surfaces.cli.app import app
    from pi_subagents.surfaces.cli.shells import completer

    echo_text(completer(shell, app).source())
