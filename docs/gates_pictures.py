"""Draws the pictures of the gates, `pictures/*.svg`: the funnel, and one picture a gate.

    python docs/gates_pictures.py

Plain Python, nothing is measured: the bytes are made up. Text stays text, each picture has a title
and a description for those who do not see it, and its colours follow the reader's preference.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

PICTURES = Path(__file__).parent / "pictures"
WIDTH = 720

STYLE = """\
text { font-family: ui-sans-serif, system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif;
  font-size: 14px; fill: var(--ink) }
.code { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  font-size: 13px }
.small { font-size: 12px; fill: var(--soft) }
.sign { font-size: 13px }
.strong { font-weight: 600 }
.soft { fill: var(--soft) }
.good { fill: var(--good) }
.bad { fill: var(--bad) }
.end { text-anchor: end }
.middle { text-anchor: middle }
.page { fill: var(--page) }
.card { fill: var(--card); stroke: var(--rule) }
.kept { fill: var(--kept); stroke: var(--good) }
.lost { fill: var(--lost); stroke: var(--bad); stroke-dasharray: 4 3 }
.fault { fill: var(--lost); stroke: var(--bad); stroke-width: 2 }
.wire { fill: none; stroke: var(--soft); stroke-width: 1.5 }
.wire.good { stroke: var(--good); fill: none }
.wire.bad { stroke: var(--bad); fill: none; stroke-dasharray: 4 3 }
.tip { fill: var(--soft) }
svg { --page: #ffffff; --card: #f5f6f8; --rule: #c9ced6; --ink: #1c2128; --soft: #57606a;
  --good: #1a7f37; --kept: #d7f0dd; --bad: #b42318; --lost: #fde7e4 }
@media (prefers-color-scheme: dark) {
  svg { --page: #16181d; --card: #22262e; --rule: #444c56; --ink: #e6eaf0; --soft: #a2abb8;
    --good: #6bd183; --kept: #173322; --bad: #ff8a80; --lost: #3d1b19 }
}
"""


class Gate(NamedTuple):
    """A gate in the funnel: its name, the bytes that leave it, how leaves are lost there."""

    name: str
    left: int
    how: str


PROMISED = 96
GATES = (
    Gate("asked", 88, "passed another way, or a jit inside a jit"),
    Gate("kept", 80, "its value is never used"),
    Gate("matched", 68, "no slot of its size is left"),
    Gate("granted", 52, "its successor has another dtype"),
    Gate("in place", 40, "a copy takes the bytes back"),
    Gate("honoured", 32, "a numpy view of it is alive"),
)
# The places that a leaf goes through, with the width of their signs.
STAGES = (
    ("request", 108),
    ("lowering", 108),
    ("alias map", 112),
    ("buffer assignment", 150),
    ("running buffer", 134),
)


# The pieces.


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Words at a point; `kind` is one or more classes of the style."""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{named}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" class="{kind}"/>'
    )


def labelled(x: float, y: float, width: float, words: str, kind: str, height: float = 30) -> str:
    """A rectangle with words in its middle."""
    label = text(x + width / 2, y + height / 2 + 4.5, words, "code middle")
    return box(x, y, width, height, kind) + label


def arrow(x1: float, y1: float, x2: float, y2: float, kind: str = "") -> str:
    """A line with a tip; `kind` is `good`, `bad` or nothing."""
    across = abs(x2 - x1) >= abs(y2 - y1)
    sign = (1 if x2 > x1 else -1) if across else (1 if y2 > y1 else -1)
    tip = (
        f"{x2:g},{y2:g} {x2 - 8 * sign:g},{y2 - 4:g} {x2 - 8 * sign:g},{y2 + 4:g}"
        if across
        else f"{x2:g},{y2:g} {x2 - 4:g},{y2 - 8 * sign:g} {x2 + 4:g},{y2 - 8 * sign:g}"
    )
    line = f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" class="{f"wire {kind}".strip()}"/>'
    return f'{line}<polygon points="{tip}" class="{kind or "tip"}"/>'


def drawing(height: float, title: str, description: str, *pieces: str) -> str:
    """A whole picture."""
    body = "\n".join(pieces)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" \
height="{height:g}" role="img" aria-labelledby="title desc">
<title id="title">{escape(title)}</title>
<desc id="desc">{escape(description)}</desc>
<style>
{STYLE}</style>
<rect width="{WIDTH}" height="{height:g}" rx="8" class="page"/>
{body}
</svg>
"""


def strip(fault: int) -> str:
    """The five places that a leaf goes through, with the one where it is lost."""
    gap, pieces, x = 20, [], 14
    for place, (name, width) in enumerate(STAGES):
        kind = "fault" if place == fault else "kept" if place < fault else "card"
        pieces.append(box(x, 14, width, 28, kind))
        mark = "✗ " if place == fault else "✓ " if place < fault else ""
        color = "bad strong" if place == fault else "" if place < fault else "soft"
        pieces.append(text(x + width / 2, 32.5, mark + name, f"sign middle {color}".strip()))
        if place:
            pieces.append(arrow(x - gap + 2, 28, x - 2, 28))
        x += width + gap
    return "\n".join(pieces)


# The pictures.


def funnel() -> str:
    """All six gates, with what is left and what is lost at each."""
    left, full, top, step = 96, 220, 58, 44
    pieces = [
        text(left, 28, "bytes that are left", "small"),
        text(left + full + 92, 28, "how leaves are lost here", "small"),
    ]
    before, said = PROMISED, []
    for row, gate in enumerate((Gate("promised", PROMISED, ""), *GATES)):
        y = top + (row - 0.5) * step
        width, was = full * gate.left / PROMISED, full * before / PROMISED
        pieces.append(text(left - 12, y + 20, gate.name, "end strong"))
        pieces.append(box(left, y, width, 28, "kept"))
        pieces.append(text(left + 8, y + 19, f"{gate.left} MiB", "code"))
        if gate.how:
            lost = before - gate.left
            pieces.append(box(left + width, y, was - width, 28, "lost"))
            pieces.append(text(left + full + 78, y + 19, f"- {lost} MiB", "code bad end"))
            pieces.append(text(left + full + 92, y + 19, gate.how))
            said.append(f"{gate.name}: {lost} MiB lost, {gate.how}")
        before = gate.left
    described = f"{PROMISED} MiB are promised. " + "; ".join(said) + f". {before} MiB are reused."
    return drawing(top + 6.5 * step + 6, "The funnel of the six gates", described, *pieces)


def asked() -> str:
    """A jit that donates, inside another one."""
    return drawing(
        208,
        "Lost at gate asked",
        "The jit that donates is called inside another jit. Only the outermost one's declaration "
        "counts, so the request says that nothing is donated.",
        strip(0),
        box(40, 70, 330, 116, "card"),
        text(54, 92, "jax.jit(train)", "code"),
        box(66, 104, 286, 62, "fault"),
        text(80, 126, "jax.jit(step, donate_argnums=0)", "code"),
        text(80, 150, "declared, and inlined into train", "small"),
        arrow(372, 128, 424, 128, "bad"),
        text(434, 116, "args_info: donated=False", "code bad"),
        text(434, 140, "Only the outermost jit donates.", "small"),
        text(434, 158, "JAX says nothing.", "small"),
    )


def kept() -> str:
    """An argument that no result needs."""
    return drawing(
        228,
        "Lost at gate kept",
        "Of two donated leaves one is used by the step and becomes a parameter of the module. The "
        "other one is never used: it is pruned, and stays alive in memory.",
        strip(1),
        text(40, 78, "arguments", "small"),
        labelled(40, 88, 190, "state.w", "kept"),
        labelled(40, 134, 190, "state.last_prediction", "fault"),
        text(40, 188, "stays alive, in its own memory", "small"),
        arrow(232, 103, 330, 103, "good"),
        arrow(232, 149, 316, 149, "bad"),
        text(322, 154, "✗", "bad strong"),
        box(336, 70, 344, 100, "card"),
        text(350, 92, "@main of the module", "small"),
        labelled(350, 102, 150, "parameter 0", "kept"),
        text(512, 122, "uses state.w", "soft"),
        text(350, 156, "kept_var_idx: argument leaf 1 was pruned", "code bad"),
        text(350, 198, "No result needs its value.", "small"),
    )


def matched() -> str:
    """A leaf for which no output is left."""
    return drawing(
        236,
        "Lost at gate matched",
        "JAX pairs donated leaves with outputs of the same size. The state finds its successor; "
        "the batch, which was donated as well, finds no output and gets no attribute.",
        strip(1),
        text(40, 78, "donated leaves", "small"),
        labelled(40, 88, 220, "state.w  float32[64,32]", "kept"),
        labelled(40, 146, 220, "batch  float32[128,784]", "fault"),
        text(420, 78, "outputs", "small"),
        labelled(420, 88, 240, "result.w  float32[64,32]", "kept"),
        labelled(420, 146, 240, "loss  float32[]", "card"),
        arrow(262, 103, 418, 103, "good"),
        text(340, 97, "tf.aliasing_output", "code good middle"),
        arrow(262, 161, 300, 161, "bad"),
        text(306, 166, "no slot left", "bad"),
        text(40, 206, "@main argument 1 has no donation attribute", "code bad"),
        text(40, 225, "The only loss of which JAX warns, if it does.", "small"),
    )


def granted() -> str:
    """A slot that is too small."""
    return drawing(
        236,
        "Lost at gate granted",
        "A float32 leaf of 8,192 bytes is offered to XLA. Its successor comes back as bfloat16 and "
        "needs 4,096 bytes, so XLA gives the leaf to no output.",
        strip(2),
        text(40, 78, "offered: jax.buffer_donor", "small"),
        labelled(40, 88, 300, "opt_state['mu']  float32  8,192 bytes", "fault"),
        arrow(342, 103, 398, 103, "bad"),
        text(370, 94, "✗", "bad strong middle"),
        text(406, 78, "the successor", "small"),
        labelled(406, 88, 140, "bfloat16  4,096", "card"),
        box(546, 88, 134, 30, "lost"),
        text(613, 107.5, "does not fit", "bad middle"),
        text(40, 156, "input_output_alias={ {0}: (0, {}, may-alias) }", "code"),
        text(40, 178, "the leaf is parameter 1, which is not in the map", "bad"),
        text(
            40,
            212,
            "The old buffer stays alive. Since JAX 0.8 nothing is said.",
            "small",
        ),
    )


def in_place() -> str:
    """A copy that takes the bytes back."""
    return drawing(
        236,
        "Lost at gate in place",
        "The leaf's buffer is reused for the result, but the old value is still to be read, so XLA "
        "copies it aside. The copy is a temporary of the leaf's size: nothing is saved.",
        strip(3),
        text(40, 78, "alias map: granted", "small"),
        box(40, 88, 300, 44, "kept"),
        text(54, 115, "state.a, then result.a", "code"),
        text(326, 115, "16 KiB", "code end"),
        arrow(190, 134, 190, 162, "bad"),
        text(202, 153, "copy.1", "code bad"),
        box(40, 164, 300, 44, "fault"),
        text(54, 191, "temporary: a's old value", "code"),
        text(326, 191, "16 KiB", "code end"),
        arrow(342, 186, 414, 186),
        labelled(416, 171, 250, "dot_general still reads it", "card"),
        text(416, 106, "arguments + outputs - alias", "code"),
        text(416, 126, "  + temporaries", "code"),
        text(416, 150, "is as large as without donation.", "small"),
        text(40, 227, "alias_size_in_bytes counts these bytes as a saving all the same.", "small"),
    )


def honoured() -> str:
    """A view that is alive when the call comes."""
    return drawing(
        236,
        "Lost at gate honoured",
        "The compiled module reuses the leaf's memory, but when the call comes, a numpy array "
        "still looks at that memory. The run copies the leaf, so the result is at another address.",
        strip(4),
        text(40, 78, "before the call", "small"),
        box(40, 88, 250, 44, "card"),
        text(54, 115, "state.w  at 0x..a000", "code"),
        labelled(40, 170, 250, "view = np.asarray(state.w)", "fault"),
        arrow(165, 168, 165, 134, "bad"),
        text(177, 156, "looks at the same memory", "small"),
        arrow(292, 110, 398, 110, "bad"),
        text(345, 102, "copied", "bad middle"),
        text(400, 78, "after it", "small"),
        box(400, 88, 280, 44, "fault"),
        text(414, 115, "result.w  at 0x..f000", "code"),
        text(400, 162, "another address: the promise was", "small"),
        text(400, 180, "kept by XLA and not by the run.", "small"),
        text(40, 225, "is_deleted() proves nothing here; the addresses do.", "small"),
    )


def pictures() -> dict[str, str]:
    """All of them, by the name of their file."""
    gates = (asked, kept, matched, granted, in_place, honoured)
    return {"funnel.svg": funnel()} | {
        f"{gate.__name__.replace('_', '-')}.svg": gate() for gate in gates
    }


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, drawn in pictures().items():
        (PICTURES / name).write_text(drawn, encoding="utf-8")
        print(f"wrote docs/pictures/{name}")
