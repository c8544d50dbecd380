"""`donatree debug`: what a bug report needs."""

from __future__ import annotations

import os
import platform
import sys

import rich_click as click

_ENVIRONMENT = (
    "JAX_",
    "XLA_",
    "NO_COLOR",
    "FORCE_COLOR",
    "PYTHONSAFEPATH",
)


@click.command("debug")
def command() -> None:
    """Print versions, the platform and the facts about this JAX with how each was established."""
    from donatree import _version

    click.echo(f"donatree   {_version.__version__}")
    click.echo(f"python     {platform.python_version()} ({sys.implementation.name})")
    click.echo(f"system     {platform.system()} {platform.machine()}")
    try:
        from donatree._jax import facts

        found = facts.versions()
    except ImportError as error:
        click.echo(f"jax        cannot be imported: {error}")
        return
    click.echo(f"jax        {found['jax']}")
    click.echo(f"jaxlib     {found['jaxlib']}")
    for name in ("flax", "equinox", "optax", "numpy", "rich", "click"):
        click.echo(f"{name:<10} {_version_of(name)}")
    import jax

    devices = ", ".join(f"{device.device_kind}" for device in jax.devices()[:4])
    click.echo(f"platform   {jax.default_backend()}, {jax.device_count()} device(s): {devices}")
    for name in sorted(os.environ):
        if name.startswith(_ENVIRONMENT):
            click.echo(f"env        {name}={os.environ[name]}")
    click.echo("\nfacts about this JAX")
    for fact in facts.all_facts():
        click.echo(f"  {fact.name} = {fact.value}")
        click.echo(f"      established: {fact.how}")
        click.echo(f"      rests on it: {fact.why}")


def _version_of(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
