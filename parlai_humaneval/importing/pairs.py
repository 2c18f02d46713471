"""Options of ``import`` that give names and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click


def renamed(given: Sequence[str]) -> dict[str, list[str]]:
    """OLD=NEW of ``--rename`` → the new names of each old one: a column may become several.

    Raises:
        click.ClickException: it is not of this form, or stands there twice.
    """
    names: dict[str, list[str]] = {}
    for old, new in _pairs("--rename", "OLD=NEW", given):
        if new in names.setdefault(old, []):
            raise click.ClickException(f"--rename names {old}={new} twice.")
        names[old].append(new)
    return names


def values_of(given: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE of ``--set``.

    Raises:
        click.ClickException: it is not of this form, or a name stands there twice.
    """
    values: dict[str, str] = {}
    for name, value in _pairs("--set", "NAME=VALUE", given):
        if name in values:
            raise click.ClickException(f"--set names {name} twice.")
        values[name] = value
    return values


def _pairs(option: str, form: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for one in given:
        name, equals, value = (part.strip() for part in one.partition("="))
        if not equals or not name:
            raise click.ClickException(f"{option} {one}: expected {form}.")
        yield name, value
