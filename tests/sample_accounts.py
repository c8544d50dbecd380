"""Accounts that the report tests render: made by hand, no JAX."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from donatree import paths
from donatree.ledger import (
    Account,
    ArraySpec,
    Change,
    ChangeKind,
    Comparison,
    Entry,
    Fault,
    Finding,
    Gate,
    Holding,
    Leaf,
    Ledger,
    Live,
    Location,
    MadeCopy,
    Refusal,
    Slot,
    Target,
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


GIB = 2**30
V5E = Target(
    "tpu:v5e:4x4", "tpu", "TPU v5 lite", 16, int(15.75 * GIB), "XLA refuses more than that"
)
H100 = Target("cuda:h100:1x1x8", "gpu", "NVIDIA H100", 8, int(79.11 * GIB), "its description")
IN_PLACE = (Gate.ASKED, Gate.KEPT, Gate.MATCHED, Gate.GRANTED, Gate.IN_PLACE)


def copied(path: str, size: int) -> Finding:
    """The finding of a leaf that a copy takes back."""
    return Finding(
        "DT501",
        f"the leaf is reused, but a copy protects a value that is still to be read: {size:,} bytes"
        " not saved",
        leaves=(path,),
        bytes=size,
        level="warning",
        location=Location("no_such_file.py", 50),
        help="let the last read of the old value come before the new one is written",
    )


def on_target(
    target: Target | None,
    devices: int,
    *,
    copies: bool = False,
    pads_to: int = 1,
    layers: int = 4,
    total: int = 4 * GIB,
) -> Ledger:
    """A train step on a target: a counter drifts everywhere, a flipped buffer is copied or not."""
    shapes = {"['attn']": (4096, 4096), "['mlp']": (4096, 16384), "['scale']": (4096,)}
    places = {f"[{i}]{name}": shape for i in range(layers) for name, shape in shapes.items()}
    lost = entry(
        "state.step",
        0,
        spec("int32"),
        stopped_at=Gate.MATCHED,
        finding="DT402",
        successor=spec("float32"),
    )
    rows = [lost]
    for tree in ("params", "mu"):
        rows += [
            entry(f"state.{tree}{place}", len(rows) + i, spec("float32", *shape, devices=devices))
            for i, (place, shape) in enumerate(places.items())
        ]
    flipped = entry(
        "state.flipped",
        len(rows),
        spec("float32", 8192, 512, devices=devices),
        stopped_at=Gate.IN_PLACE if copies else None,
        finding="DT501" if copies else None,
        evidence={"granted": "input_output_alias {25}", "in_place": "no copy protects it"},
    )
    rows = [_padded(row, pads_to) for row in (*rows, flipped)]
    size = rows[-1].bytes
    kept = sum(row.bytes for row in rows if row.slot)
    made = MadeCopy("copy.7", size, ("state.flipped",), "the value that `rev` still reads")
    drift = dataclasses.replace(DRIFT, bytes=rows[0].bytes)
    return ledger(
        rows,
        *([copied("state.flipped", size)] if copies else []),
        drift,
        function="train_step",
        signature="(state: State, tokens: int32[16,2048]) #9f02",
        platform=target.platform if target else "cpu",
        devices=devices,
        target=target,
        checked=IN_PLACE,
        live=Live(total - 2**20, kept, kept, 2**20),
        copies=(made,) if copies else (),
    )


def _padded(row: Entry, to: int) -> Entry:
    array = dataclasses.replace(row.leaf.spec, bytes=-(-row.bytes // to) * to)
    return dataclasses.replace(row, leaf=dataclasses.replace(row.leaf, spec=array))


LARGEST = (
    Holding("state.params[0..3]['mlp']", 6 * GIB, "f32[4,4096,16384]", "argument and output"),
    Holding("state.mu[0..3]['mlp']", 6 * GIB, "f32[4,4096,16384]", "argument and output"),
    Holding(
        "transpose(jvp(dot_general))",
        3 * GIB + 2**29,
        "bf16[4,16,2048,16384]",
        "temporary",
        Location("train.py", 57),
    ),
)


def targets() -> Account:
    """One step on three targets: only the CPU copies a leaf, and the TPU has too little memory."""
    tpu = on_target(V5E, 16, pads_to=512, total=int(19.86 * GIB))
    note = "temporaries are an estimate: they depend on what the card itself would choose"
    return account(
        on_target(None, 1, copies=True),
        dataclasses.replace(tpu, largest=LARGEST),
        dataclasses.replace(on_target(H100, 8), notes=(note,)),
        refusals=(
            Refusal(
                "evaluate", "(params, batch) #1", "cuda:h100:1x1x8", "a `pure_callback` inside"
            ),
            Refusal(
                "evaluate", "(params, batch) #2", "cuda:h100:1x1x8", "a `pure_callback` inside"
            ),
        ),
    )


def one_target() -> Account:
    """The same step on the TPU alone."""
    tpu = on_target(V5E, 16, pads_to=512, total=int(19.86 * GIB))
    return account(dataclasses.replace(tpu, largest=LARGEST))


def many_targets() -> Account:
    """Nine targets: too many for a column each; memory of one is not known, of one not read."""
    names = ["v2:4x4", "v3:4x4", "v4:2x2x4", "v5e:4x4", "v5p:2x2x4", "v6e:4x4", "tpu7x:2x2x2"]
    made = [
        on_target(
            Target(f"tpu:{name}", "tpu", f"TPU {name.split(':')[0]}", 16, (8 + 8 * i) * GIB),
            16,
            total=30 * GIB,
        )
        for i, name in enumerate(names)
    ]
    unread = dataclasses.replace(
        on_target(dataclasses.replace(H100, name="cuda:mine.txt", memory=None), 16),
        checked=IN_PLACE[:-1],
        live=None,
    )
    entries = tuple(dataclasses.replace(e, evidence={}) for e in unread.entries)
    unread = dataclasses.replace(unread, entries=entries)
    nameless = on_target(dataclasses.replace(H100, memory=None), 16)
    return account(on_target(None, 16, copies=True), *made, unread, nameless)


def hostile_targets() -> Account:
    """Targets, buffers and reasons with what a terminal or rich's markup would act on."""
    name = "cuda:[red]\x1b[31m/漢字.txt"
    target = Target(name, "gpu", "[b]\x1b[2J", 8, GIB, "`[/]`\x9b")
    holding = Holding("state['[/]\x1b']", 3 * GIB, "f32[\x1b]", "\x1b[1m", Location("[b]\x1b", 1))
    made = dataclasses.replace(
        on_target(target, 8, copies=True, total=3 * GIB),
        largest=(holding,),
        copies=(MadeCopy("copy\x1b", 4, ("state['[red]\x1b']",), "\x1b", costs=False),),
        notes=("[red]\x1b[31m",),
    )
    refusal = Refusal("<lambda>[red]\x1b", "", name, "it said [/] \x1b[31m `x`")
    return account(on_target(None, 1), made, refusals=(refusal,))


def compared() -> Account:
    """Held against a baseline: a leaf of every kind of change; and an ignored finding."""
    drifted = dataclasses.replace(DRIFT, ignored="pyproject.toml: old checkpoints")
    drifted = dataclasses.replace(drifted, ignored_leaves=DRIFT.leaves)
    book = dataclasses.replace(lesson().ledgers[0], findings=(drifted,))

    def change(kind: ChangeKind, path: str, size: int, before: str | None, after: str | None):
        return Change(
            kind,
            "step",
            "(state, batch)",
            path,
            file="train.py",
            bytes=size,
            platform="cpu",
            before=before,
            after=after,
            old_jax="0.10.2",
            new_jax="0.12.0.1",
            location=Location("train.py", 41) if after else None,
        )

    changes = (
        change("worse", "state.step", 4, "reused", "DT402"),
        change("new", "state.ema['w']", 64, None, "DT402"),
        change("better", "state.mu['w']", 64, "DT402", "reused"),
        change("other", "state.nu['w']", 64, "DT402", "DT404"),
        change("gone", "state.old['<b>']", 16, "reused", None),
    )
    found = Comparison("donation.toml", None, changes, 2, ("evaluate (train.py)",), ("a note",))
    return account(book, comparison=found, unmatched=("pyproject.toml: `DT801` in `nothing`",))


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
        "targets": targets(),
        "one target": one_target(),
        "many targets": many_targets(),
        "hostile targets": hostile_targets(),
        "compared": compared(),
    }
