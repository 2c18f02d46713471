"""``parlai-humaneval setup``: what pip leaves out."""

from __future__ import annotations

import click

from parlai_humaneval._util.installing import (
    ENGINES,
    LOCAL,
    NAMES,
    install_engines,
    install_local,
    installed,
)
from parlai_humaneval.cli.errors import cli_errors

EPILOG = """\b
Examples:
  parlai-humaneval setup
  parlai-humaneval setup --local
"""


@click.command(epilog=EPILOG)
@click.option("--local", is_flag=True, help="Also PyTorch, transformers and accelerate, for models on this machine.")
def setup(local: bool) -> None:
    """Install ParlAI and Mephisto, without the libraries of 2022 that they pin.

    What is installed already stays. --local takes PyTorch's build without CUDA where there is no NVIDIA GPU.
    """
    with cli_errors():
        install_engines()
        if local:
            install_local()
    for name in (*ENGINES, *(LOCAL if local else ())):
        click.echo(f"{NAMES.get(name, name)} {installed(name)}")
