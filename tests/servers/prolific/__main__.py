"""``PYTHONPATH=tests python -m servers.prolific``: the stand-in by hand."""

from __future__ import annotations

import threading

import click

from .server import StandIn

EPILOG = """\b
Example:
  PYTHONPATH=tests python -m servers.prolific --port 8112
  PROLIFIC_API=http://127.0.0.1:8112/api/v1/ parlai-humaneval launch pw_turn place=prolific …
"""


@click.command(epilog=EPILOG)
@click.option(
    "--port", default=8112, show_default=True, help="Port to listen on, on this machine only; 0: any free one."
)
@click.option(
    "--currency", type=click.Choice(["GBP", "USD"]), default="GBP", show_default=True, help="Of the workspace."
)
@click.option("--balance", type=float, default=100.0, show_default=True, help="Money in the workspace.")
def main(port: int, currency: str, balance: float) -> None:
    """Serve a stand-in for Prolific until Ctrl-C: its API, a site for participants, and a page with what was paid."""
    with StandIn(currency=currency, balance=round(balance * 100), port=port) as prolific:
        click.echo("\n".join(f"export {name}={value}" for name, value in prolific.environment.items()))
        click.echo(f"Participants: {prolific.url}/")
        click.echo(f"Studies and money: {prolific.url}/researcher")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("Ended.")


if __name__ == "__main__":
    main()
