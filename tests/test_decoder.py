"""The decoder of the examples: as large as it says, sound, and lowered for chips without one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("optax", reason="decoder.py needs optax")

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMED = {
    "one_billion": 1e9,
    "eight_billion": 8e9,
    "seventy_billion": 70e9,
    "four_hundred_five_billion": 405e9,
}

LOWERED = """
import json
import jax
import decoder

step, args = decoder.four_hundred_five_billion()
leaves = jax.tree.leaves(args)
assert all(type(leaf) is jax.ShapeDtypeStruct for leaf in leaves)
text = step.trace(*args).lower(lowering_platforms=("tpu",)).as_text()
main = text[text.index("@main("):].split("{\\n", 1)[0]
shards = [leaf.sharding.shard_shape(leaf.shape) for leaf in leaves]
print(json.dumps({
    "devices": jax.device_count(),
    "state": len(jax.tree.leaves(args[0])),
    "promised": main.count("tf.aliasing_output"),
    "left": main.count("jax.buffer_donor"),
    "whole": sum(leaf.size for leaf in leaves),
    "local": sum(__import__("math").prod(shape) for shape in shards),
    "batch": args[1].shape[0],
    "held": len(jax.live_arrays()),
}))
"""


def python(*args: str, devices: int = 1) -> str:
    env = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "PYTHONPATH": str(EXAMPLES),
    }
    done = subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=600, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_step_of_405_billion_parameters_is_lowered_for_tpu_on_devices_that_are_not_one():
    found = json.loads(python("-c", LOWERED, devices=8))
    assert found["devices"] == found["batch"] == 8
    assert found["state"] == found["promised"] == 38, "every leaf of the state is promised a slot"
    assert found["left"] == 0
    assert found["held"] == 0, "no array was allocated"
    assert found["local"] / found["whole"] == pytest.approx(1 / 8, rel=1e-3), "it is split"


def test_the_script_trains_and_prints_how_many_parameters_there_are():
    said = python(str(EXAMPLES / "decoder.py"), devices=2)
    counted = re.findall(r"^([a-z ]+): ([\d,]+) parameters$", said, re.MULTILINE)
    assert [name.replace(" ", "_") for name, _ in counted] == list(NAMED)
    for (_, figure), size in zip(counted, NAMED.values(), strict=True):
        assert int(figure.replace(",", "")) == pytest.approx(size, rel=0.05)
    losses = [float(each) for each in re.findall(r"^step +\d+  loss (\S+)$", said, re.MULTILINE)]
    assert len(losses) == 4
    assert losses[-1] < losses[0] / 2


def test_the_table_of_the_examples_has_the_same_figures():
    said = python(str(EXAMPLES / "decoder.py"))
    table = (EXAMPLES / "README.md").read_text("utf-8")
    for name, figure in re.findall(r"^([a-z ]+): ([\d,]+) parameters$", said, re.MULTILINE):
        assert f"| `{name.replace(' ', '_')}` | {figure} |" in table


def test_the_functions_are_named_in_the_script():
    text = (EXAMPLES / "decoder.py").read_text("utf-8")
    assert [name for name in NAMED if f"\ndef {name}():\n" in text] == list(NAMED)
