"""Cases of layouts: a leaf and its slot that lie in memory in different orders."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import layout
from jax.sharding import SingleDeviceSharding

from cases_table import Call, Truth, case, kept

# Up to JAX 0.6 a `Format` is called `Layout`, and a `Layout` `DeviceLocalLayout`.
_layout: Any = layout
Format: Any = getattr(_layout, "Format", _layout.Layout)
Layout: Any = _layout.DeviceLocalLayout if Format is _layout.Layout else _layout.Layout
AUTO: Any = Format(Layout.AUTO)


def by(*order: int) -> Any:
    """The format with this order of axes, major to minor, on the one device."""
    return Format(Layout(order), SingleDeviceSharding(jax.devices()[0]))


def double(**options: Any) -> Any:
    """A fresh jitted function that donates its matrix."""

    def twice(matrix: Any) -> Any:
        return matrix * 2

    return jax.jit(twice, donate_argnums=0, **options)


def _matrix() -> jax.Array:
    return jnp.ones((24, 10))


@case(
    Truth(
        (kept("matrix", "float32[24,10]", 960, "result", "DT406"),), (960, 960, 960, 960, 960), 960
    ),
)
def rows_in_and_columns_out() -> Call:
    return Call(double(in_shardings=by(0, 1), out_shardings=by(1, 0)), (_matrix(),))


@case(Truth((kept("matrix", "float32[24,10]", 960, "result"),), (960, 960, 960, 960, 960), 960))
def columns_in_and_columns_out() -> Call:
    step = double(in_shardings=by(1, 0), out_shardings=by(1, 0))
    return Call(step, (jax.device_put(_matrix(), by(1, 0)),))


@case(
    Truth(
        (kept("matrix", "float32[24,10]", 960, "result", "DT406"),), (960, 960, 960, 960, 960), 960
    ),
)
def columns_in_and_the_default_out() -> Call:
    return Call(double(), (jax.device_put(_matrix(), by(1, 0)),))
