"""``PYTHONPATH=tests python -m servers.mturk``: the stand-in by hand."""

from __future__ import annotations

import threading

import click

from .server import StandIn

EPILOG = """\b
Example:
  PYTHONPATH=tests python -m servers.mturk --port 8111
  AWS_ENDPOINT_URL_MTURK=http://127.0.0.1:8111 parlai-humaneval launch pw_turn place=mturk_sandbox …
"""


@click.command(epilog=EPILOG)
@click.option(
    "--port", default=8111, show_default=True, help="Port to listen on, on this machine only; 0: any free one."
)
@click.option(
    "--sandbox/--real", default=True, show_default=True, help="Endless play money, or an account that gets empty."
)
@click.option("--deposited", default="100.00", show_default=True, help="Dollars in the account (with --real).")
def main(port: int, sandbox: bool, deposited: str) -> None:
    """Serve a stand-in for Amazon Mechanical Turk until Ctrl-C: its protocol, and a site for workers."""
    with StandIn(sandbox=sandbox, deposited=deposited, port=port) as mturk:
        click.echo("\n".join(f"export {name}={value}" for name, value in mturk.environment.items()))
        click.echo(f"Workers: {mturk.url}/")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("Ended.")


if __name__ == "__main__":
    main()
