"""Accounts that the report tests render: made by hand, no JAX."""

from __future__ import annotations

import math
from collections.abc import Iterable

from donatree import paths
from donatree.ledger import (
    Account,
    ArraySpec,
    Entry,
    Fault,
    Finding,
    Gate,
    Leaf,
    Ledger,
    Live,
    Location,
    Slot,
)

VERSIONS = {"donatree": "0.1.0", "jax": "0.12.0.1", "jaxlib": "0.12.0.1", "python": "3.13.1"}
_ITEMSIZE = {"float32": 4, "int32": 4, "bfloat16": 2, "uint8": 1}


def spec(dtype: str, *shape: int, devices: int = 1) -> ArraySpec:
    """An array split over ``devices`` along its first axis."""
    whole = math.prod(shape) * _ITEMSIZE[dtype]
    local = (shape[0] // devices, *shape[1:]) if shape else shape
    return ArraySpec(
        dtype,
        shape,
        local,
        whole // devices if shape else whole,
        whole,
        sharding="P('data')" if devices > 1 and shape else None,
    )


def entry(
    path: str,
    index: int,
    array: ArraySpec,
    *,
    slot: str | None = None,
    stopped_at: Gate | None = None,
    finding: str | None = None,
    successor: ArraySpec | None = None,
    evidence: dict[str, str] | None = None,
) -> Entry:
    """An entry whose successor lies at the same path of ``result``."""
    argument, *below = paths.split(path)
    place = "".join(["result", *below])
    taken = Slot(slot or place, index, array)
    return Entry(
        Leaf(path, argument, index, array),
        slot=None if stopped_at else taken,
        successor=Slot(place, index, successor or array),
        stopped_at=stopped_at,
        finding=finding,
        evidence=evidence or {},
    )


def ledger(entries: Iterable[Entry], *findings: Finding, function: str = "step", **more) -> Ledger:
    entries = tuple(entries)
    fields = {
        "function": function,
        "signature": "(state, batch)",
        "donated_arguments": tuple(dict.fromkeys(entry.leaf.argument for entry in entries)),
        "entries": entries,
        "findings": findings,
        "platform": "cpu",
        "location": Location("train.py", 41),
    }
    return Ledger(**{**fields, **more})


def account(*ledgers: Ledger, **more) -> Account:
    fields = {
        "ledgers": ledgers,
        "versions": VERSIONS,
        "platform": "cpu",
        "program": "train.py",
    }
    return Account(**{**fields, **more})


DRIFT = Finding(
    "DT402",
    "an int32 leaf is returned as float32",
    leaves=("state.step",),
    bytes=4,
    location=Location("no_such_file.py", 41, 29, 41, 45),
    notes=("`state.step` is int32[], `result.step` is float32[]",),
    help="return `state.step + 1`, which stays int32",
)


def lesson() -> Account:
    """The lesson's state: 80 of 84 bytes."""
    lost = entry(
        "state.step",
        2,
        spec("int32"),
        stopped_at=Gate.MATCHED,
        finding="DT402",
        successor=spec("float32"),
        evidence={"asked": "args_info: donated", "matched": "@main %arg2: no attribute"},
    )
    rows = [
        entry("state.w", 0, spec("float32", 4, 4)),
        entry("state.b", 1, spec("float32", 4)),
        lost,
    ]
    made = ledger(
        rows,
        DRIFT,
        function="drifted",
        signature="(state: State, g: float32[4,4]) #1f0c",
        live=Live(100, 100, 80, 0),
    )
    return account(made)


def kept() -> Account:
    """The lesson's state where nothing is lost."""
    rows = [
        entry("state.w", 0, spec("float32", 4, 4)),
        entry("state.b", 1, spec("float32", 4)),
        entry("state.step", 2, spec("int32")),
    ]
    return account(ledger(rows, function="kept", live=Live(100, 100, 84, 0)))


def transformer(layers: int = 12) -> Account:
    """A train state of many leaves: adam's ``mu`` comes back as bfloat16, one counter drifts."""
    shapes = {
        "['attn']['qkv']['kernel']": (512, 1536),
        "['attn']['out']['kernel']": (512, 512),
        "['mlp']['up']['kernel']": (512, 2048),
        "['mlp']['up']['bias']": (2048,),
        "['norm']['scale']": (512,),
    }
    places = {f"['block_{i}']{leaf}": s for i in range(layers) for leaf, s in shapes.items()}
    places["['embed']['embedding']"] = (32000, 512)
    rows: list[Entry] = []
    lost: list[str] = []
    rows.append(
        entry(
            "state.step",
            0,
            spec("int32"),
            stopped_at=Gate.MATCHED,
            finding="DT402",
            successor=spec("float32"),
        )
    )
    for tree in ("params", "opt_state[0].mu", "opt_state[0].nu"):
        for place, shape in places.items():
            path = f"state.{tree}{place}"
            array = spec("float32", *shape)
            if tree.endswith("mu"):
                lost.append(path)
                row = entry(
                    path,
                    len(rows),
                    array,
                    stopped_at=Gate.GRANTED,
                    finding="DT401",
                    successor=spec("bfloat16", *shape),
                )
            else:
                row = entry(path, len(rows), array)
            rows.append(row)
    by_size = sorted((row for row in rows if row.path in lost), key=lambda row: -row.bytes)
    finding = Finding(
        "DT401",
        "float32 leaves are returned as bfloat16",
        leaves=tuple(row.path for row in by_size),
        bytes=sum(row.bytes for row in by_size),
        location=Location("train.py", 88),
        folded=paths.fold(row.path for row in by_size),
        notes=(
            "a slot of half the bytes cannot take the leaf's memory, and JAX does not warn of it",
        ),
        help="keep `mu_dtype` at `jnp.float32`, or initialise the optimizer with the same type",
    )
    made = ledger(rows, finding, DRIFT, function="train_step", location=Location("train.py", 88))
    return account(made)


def sharded() -> Account:
    """A step on 8 devices, one leaf lost to another sharding."""
    rows = [
        entry("params['w']", 0, spec("float32", 4096, 1024, devices=8)),
        entry(
            "params['b']",
            1,
            spec("float32", 4096, devices=8),
            stopped_at=Gate.GRANTED,
            finding="DT404",
        ),
        entry("step", 2, spec("int32")),
    ]
    finding = Finding(
        "DT404", "a leaf is returned with another sharding", leaves=("params['b']",), bytes=2048
    )
    return account(ledger(rows, finding, devices=8, live=Live(3_000_000, 3_000_000, 2_097_172, 0)))


def hostile() -> Account:
    """Names that a terminal or rich's markup would act on."""
    names = [
        "['[red]x[/]']",
        "['\\x1b[31m']",
        "['a.b']['c]']",
        ".\x1b[2J",
        "['漢字']",
        "[':smile:']",
    ]
    rows = [entry(f"state{name}", i, spec("float32", 4)) for i, name in enumerate(names)]
    rows.append(entry("state['[/]']", 9, spec("uint8", 7), stopped_at=Gate.KEPT, finding="DT201"))
    finding = Finding(
        "DT201",
        "`state['[/]']` is \x1b[31mnever used",
        leaves=("state['[/]']",),
        bytes=7,
        location=Location("[bold]a.py", 3),
    )
    return account(ledger(rows, finding, function="<lambda>[red]"), program="[b]x[/b].py")


def faulty() -> Account:
    """Nothing learnt, because donatree itself failed."""
    fault = Fault(
        "reading the header of train_step",
        "HeaderError: no `}` after place 17",
        'Traceback (most recent call last):\n  File "header.py", line 3, in read\n    raise\n',
    )
    return account(faults=(fault, fault), ended="ValueError: shapes do not match")


def everything() -> dict[str, Account]:
    """All of them, and the account in which no function asked for donation."""
    return {
        "lesson": lesson(),
        "kept": kept(),
        "transformer": transformer(),
        "sharded": sharded(),
        "hostile": hostile(),
        "faulty": faulty(),
        "nothing": account(),
        "empty": Account(),
    }
