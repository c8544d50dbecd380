"""Compiles some of the programs of `programs_in_place.py` and saves their modules.

    python collect.py FOLDER

Run it under each version of JAX and name the folder after it, as ``jax-0.12.0.1``. Of each program
it writes the module's text and a file of two lines, `BufferAssignmentProto` and `HloModuleProto` as
the compiled program gives them, compressed by zlib and in base64. `saved_modules.py` reads them.

With ``MODULES_PLATFORM=tpu`` it writes texts alone, compiled for a described chip; that needs the
``libtpu`` package but no chip. Their matrices have 8192 rows and columns, because XLA keeps smaller
ones in fast memory.
"""

from __future__ import annotations

import base64
import os
import sys
import zlib
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parents[2]))

import jax

from programs_in_place import PROGRAMS, SIDE, compiled

CPU = ("momentum", "crossed", "squared", "updated_and_read", "trained", "looped_and_read")
TPU = ("exchanged", "crossed", "squared", "summed")
LARGE = 8192


def save_for_cpu(folder: Path) -> None:
    for name in CPU:
        found = compiled(PROGRAMS[name])
        (folder / f"{name}.txt").write_text(found.text, "utf-8")
        protos = (found.assignment or b"", found.module)
        lines = [base64.b64encode(zlib.compress(each, 9)).decode() for each in protos]
        (folder / f"{name}.b64").write_text("\n".join(lines) + "\n", "ascii")


def save_for_tpu(folder: Path) -> None:
    from jax.experimental import topologies

    chip = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x2").devices[0]
    sharding = jax.sharding.SingleDeviceSharding(chip)

    def large(leaf: Any) -> Any:
        shape = tuple(LARGE if size == SIDE else size for size in leaf.shape)
        return jax.ShapeDtypeStruct(shape, leaf.dtype, sharding=sharding)

    for name in TPU:
        program = PROGRAMS[name]
        arguments = jax.tree.map(large, program.arguments)
        step = jax.jit(program.function, donate_argnums=program.donated)
        (folder / f"{name}.txt").write_text(step.lower(*arguments).compile().as_text(), "utf-8")


if __name__ == "__main__":
    # Names of files without their folders.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    target = Path(sys.argv[1])
    target.mkdir(exist_ok=True)
    (save_for_tpu if os.environ.get("MODULES_PLATFORM") == "tpu" else save_for_cpu)(target)
