"""Which slot replaces a leaf: by path, by the argument's name, and for bare arrays by type."""

from __future__ import annotations

import math

import pytest

from donatree import paths
from donatree.ledger import ArraySpec, Leaf, Slot
from donatree.why import successor


def spec(text: str) -> ArraySpec:
    dtype, _, rest = text.partition("[")
    shape = tuple(int(size) for size in rest.rstrip("]").split(",") if size)
    size = math.prod(shape) * 4
    return ArraySpec(dtype, shape, shape, size, size)


def pairs(leaves: dict[str, str], slots: dict[str, str]) -> dict[str, str]:
    made = [
        Leaf(path, paths.split(path)[0], index, spec(text))
        for index, (path, text) in enumerate(leaves.items())
    ]
    results = [Slot(path, index, spec(text)) for index, (path, text) in enumerate(slots.items())]
    found = successor.pair(made, results)
    return {leaf.path: found[leaf.flat_index].path for leaf in made if leaf.flat_index in found}


W, B, S = "float32[4,4]", "float32[4]", "float32[]"


@pytest.mark.parametrize(
    ("leaves", "slots", "expected"),
    [
        ({"s.w": W, "s.b": B}, {"result.w": W, "result.b": B},
         {"s.w": "result.w", "s.b": "result.b"}),
        ({"s.w": W, "s.b": B}, {"result[0]": S, "result[1].w": W, "result[1].b": B},
         {"s.w": "result[1].w", "s.b": "result[1].b"}),
        # a leaf that is missing from the result has no successor
        ({"s.w": W, "s.b": B}, {"result.w": W}, {"s.w": "result.w"}),
        # drift keeps the path
        ({"s.w": W}, {"result.w": "bfloat16[4,4]"}, {"s.w": "result.w"}),
        # two equal trees go in order
        ({"g.w": W, "d.w": W}, {"result[0].w": W, "result[1].w": W},
         {"g.w": "result[0].w", "d.w": "result[1].w"}),
        # the name decides before the order
        ({"grads['w']": W, "params['w']": W}, {"result['params']['w']": W},
         {"params['w']": "result['params']['w']"}),
        # a state whose halves are returned apart
        ({"s['p']['w']": W, "s['o'].mu['w']": W, "s['o'].nu['w']": W},
         {"result[0]['w']": W, "result[1].mu['w']": W, "result[1].nu['w']": W},
         {"s['p']['w']": "result[0]['w']", "s['o'].mu['w']": "result[1].mu['w']",
          "s['o'].nu['w']": "result[1].nu['w']"}),
        # two tuples that both have a place 0 have nothing in common
        ({"batch[0]": "float32[48,64]", "batch[1]": "int32[48]"},
         {"result[0]": S, "result[1].w": W}, {}),
        # bare arrays
        ({"x": W}, {"result": "float32[3,4]"}, {"x": "result"}),
        ({"x": W}, {"result": "float32[16]"}, {"x": "result"}),
        ({"x": W}, {"result": S}, {}),
        ({"x": B, "n": "int32[]"}, {"result[0]": S, "result[1]": B, "result[2]": "int32[]"},
         {"x": "result[1]", "n": "result[2]"}),
    ],
)  # fmt: skip
def test_successors(
    leaves: dict[str, str], slots: dict[str, str], expected: dict[str, str]
) -> None:
    assert pairs(leaves, slots) == expected
