"""`donatree hlo`: compiled modules on disk, read without JAX."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donatree.dumps.folder import Group, find
from donatree.dumps.reading import read
from donatree.dumps.stages import Stage, stage_of
from donatree.ledger import Gate, Ledger
from donatree.reports import progress
from programs import Ended, python
from programs import donatree as run_donatree
from saved_dumps import FOLDER

REFUSES = """
import sys

class Refuses:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib", "numpy", "google"):
            raise ImportError(f"{name} was imported")

sys.meta_path.insert(0, Refuses())
from donatree.cli import group
code = group.main(["hlo", *sys.argv[1:]], standalone_mode=False)
assert "jax" not in sys.modules
sys.exit(code)
"""

PROGRAM = """
import jax
import jax.numpy as jnp


def train_step(state, x):
    return {"w": state["w"] @ state["w"], "b": state["b"] + x.sum(), "n": state["n"] + 1}


step = jax.jit(train_step, donate_argnums=0)
state = {"w": jnp.ones((64, 64)), "b": jnp.ones((64,)), "n": jnp.zeros((), jnp.int32)}
step(state, jnp.ones((8,)))
"""

LOST = """HloModule jit_step, is_scheduled=true, \
input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) }, \
entry_computation_layout={(f32[8]{0}, f32[4,4]{1,0}, f32[2]{0})->(f32[8]{0}, bf16[4,4]{1,0})}

ENTRY %main (a: f32[8], b: f32[4,4], c: f32[2]) -> (f32[8], bf16[4,4]) {
  %a = f32[8]{0} parameter(0), metadata={op_name="state[\\'a\\']"}
  %b = f32[4,4]{1,0} parameter(1)
  %c = f32[2]{0} parameter(2), metadata={op_name="x"}
  %add = f32[8]{0} add(%a, %a)
  %convert = bf16[4,4]{1,0} convert(%b)
  ROOT %tuple = (f32[8]{0}, bf16[4,4]{1,0}) tuple(%add, %convert)
}
"""


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a real program dumps, on the JAX that is installed."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "train.py").write_text(PROGRAM, "utf-8")
    flags = f"--xla_dump_to={folder / 'dump'} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"
    ended = python("train.py", cwd=folder, XLA_FLAGS=flags)
    assert ended.code == 0, ended.err
    return folder / "dump"


def hlo(*arguments: str | Path, cwd: Path) -> Ended:
    return run_donatree("hlo", *map(str, arguments), cwd=cwd)


def ledger(path: Path) -> Ledger:
    """The ledger of the only module at a place that has one."""
    found = [reading for group in find(path) if (reading := read(group)).ledger is not None]
    assert len(found) == 1, [each.unread for each in found]
    assert found[0].ledger is not None
    return found[0].ledger


def only(folder: Path, name: str, to: Path) -> Path:
    """A copy of the files of one saved module."""
    to.mkdir(exist_ok=True)
    for file in (FOLDER / folder).glob(f"*{name}*"):
        shutil.copy(file, to / file.name)
    return to


# Real dumps


def test_a_real_dump_tells_what_became_of_each_leaf(dumped: Path, tmp_path: Path):
    ended = hlo("--json", tmp_path / "out.json", dumped, cwd=tmp_path)
    assert ended.code == 1, ended
    report = json.loads((tmp_path / "out.json").read_text("utf-8"))
    (found,) = [each for each in report["ledgers"] if each["function"] == "jit_train_step"]
    entries = {each["path"]: each for each in found["entries"]}
    assert set(entries) == {"state['b']", "state['n']", "state['w']"}
    assert entries["state['w']"]["stopped_at"] == "in_place"
    assert entries["state['w']"]["finding"] == "DT501"
    assert entries["state['b']"]["stopped_at"] is None
    assert found["checked"][:2] == ["matched", "granted"]
    assert found["platform"] == "cpu"
    assert found["alias_size_in_bytes"] == found["promised_bytes"] == 16644
    assert report["unread"] == []
    assert "jit_train_step" in ended.out


def test_protobuf_says_what_the_text_says(dumped: Path):
    for path in dumped.glob("*step*optimizations.txt"):
        text = read(Group(path.name, {Stage.UNKNOWN: path})).ledger
        proto = path.with_name(path.name.replace(".txt", ".hlo.pb"))
        other = read(Group(path.name, {Stage.UNKNOWN: proto})).ledger
        assert text is not None
        assert other is not None
        assert [(e.path, e.bytes) for e in other.entries] == [
            (e.path, e.bytes) for e in text.entries
        ]
        at_granted = [each.passed(Gate.GRANTED) for each in text.entries]
        assert [each.passed(Gate.GRANTED) for each in other.entries] == at_granted
        assert other.function == text.function == "jit_train_step"
        if "after" in path.name:
            assert any("protobuf" in note for note in other.notes)


def test_neither_jax_nor_protobuf_is_imported(dumped: Path, tmp_path: Path):
    proto = next(dumped.glob("*step*after_optimizations.hlo.pb"))
    for place, code in ((dumped, 1), (proto, 0), (FOLDER, 1)):
        ended = python("-c", REFUSES, str(place), cwd=tmp_path)
        assert (ended.code, ended.err) == (code, "")
        assert "jit_" in ended.out


def test_the_hook_refuses_what_it_should(tmp_path: Path):
    ended = python("-c", REFUSES.replace("code = ", "import jax\ncode = "), cwd=tmp_path)
    assert "ImportError: jax was imported" in ended.err


# What the stages say together


def test_the_module_before_optimisation_has_the_promise(tmp_path: Path):
    whole = ledger(only(Path("tpu-0.12.0.1"), "module_0069", tmp_path / "whole"))
    assert [each.path for each in whole.lost] == ["a"]
    assert whole.checked == (Gate.MATCHED, Gate.GRANTED)
    assert whole.entries[0].evidence["matched"] == "before optimisation: buffer_donor"
    assert whole.promised == 524288 + 16384 + 512, "as the target lays it out"
    alone = tmp_path / "alone"
    alone.mkdir()
    for file in (tmp_path / "whole").glob("*after_optimizations.txt"):
        shutil.copy(file, alone / file.name)
    found = ledger(alone)
    assert [each.path for each in found.lost] == ["a"]
    assert found.checked == (Gate.GRANTED,)
    assert any("before optimisation is not here" in note for note in found.notes)
    assert any("no buffer assignment is here" in note for note in found.notes)


def test_a_promise_that_left_no_trace_is_lost(tmp_path: Path):
    dropped = LOST.replace("buffer_donor={ (1, {}) }, ", "")
    before = LOST.replace("is_scheduled=true, ", "")
    (tmp_path / "module_0001.jit_step.cpu_after_optimizations.txt").write_text(dropped)
    (tmp_path / "module_0001.jit_step.before_optimizations.txt").write_text(before)
    found = ledger(tmp_path)
    (lost,) = found.lost
    assert lost.path == "parameter 1"
    assert lost.evidence["granted"] == "parameter 1 is not in input_output_alias"
    assert (found.promised, found.kept_in_place) == (32 + 64, 32)
    assert found.findings[0].code == "DT301"
    (tmp_path / "module_0001.jit_step.before_optimizations.txt").unlink()
    assert ledger(tmp_path).lost == (), "the compiled module alone cannot tell"


def test_a_module_that_is_not_compiled_promises_and_no_more(tmp_path: Path):
    path = tmp_path / "lowered.txt"
    path.write_text(LOST.replace("is_scheduled=true, ", ""))
    ended = hlo(path, cwd=tmp_path)
    assert ended.code == 0
    assert "what XLA grants is not known" in " ".join(ended.out.split())
    found = ledger(path)
    assert (found.checked, found.lost, found.promised) == ((Gate.MATCHED,), (), 96)


STABLEHLO = """#loc1 = loc("state['m'], {tf.aliasing_output = 7}")
#loc2 = loc("state['w']")
module @jit_step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<32x32xf32> {jax.buffer_donor = true} loc(#loc1), \
%arg1: tensor<4xi1> {mhlo.sharding = "{replicated}", tf.aliasing_output = 1 : i32} loc(#loc2), \
%arg2: tensor<2xcomplex<f32>> loc("x")) -> (tensor<32x32xbf16> {jax.result_info = "result['m']"}, \
tensor<4xi1> {jax.result_info = "result['w']"}) {
    return
  }
}
"""


def test_stablehlo_says_what_was_promised(tmp_path: Path):
    path = tmp_path / "step.mlir"
    path.write_text(STABLEHLO)
    found = ledger(path)
    rows = [(each.path, each.bytes, each.evidence["matched"]) for each in found.entries]
    assert rows == [
        (
            "state['m'], {tf.aliasing_output = 7}",
            4096,
            "@main argument 0: jax.buffer_donor = true",
        ),
        ("state['w']", 4, "@main argument 1: tf.aliasing_output = 1"),
    ]
    assert found.checked == (Gate.MATCHED,)


def test_stablehlo_beside_the_compiled_module_names_leaves_and_slots(tmp_path: Path):
    (tmp_path / "module_0001.jit_step").mkdir()
    (tmp_path / "module_0001.jit_step" / "module.mlir").write_text(
        STABLEHLO.replace(", {tf.aliasing_output = 7}", "")
    )
    (tmp_path / "module_0001.jit_step.cpu_after_optimizations.txt").write_text(
        "HloModule jit_step, is_scheduled=true, input_output_alias={ {1}: (1, {}, may-alias) }, "
        "buffer_donor={ (0, {}) }, entry_computation_layout={(f32[32,32]{1,0}, pred[4]{0}, "
        "c64[2]{0})->(bf16[32,32]{1,0}, pred[4]{0})}\n"
    )
    found = ledger(tmp_path)
    assert [(each.path, each.finding) for each in found.entries] == [
        ("state['m']", "DT402"),
        ("state['w']", None),
    ]
    assert found.entries[1].slot is not None
    assert found.entries[1].slot.path == "result['w']"


def test_modules_of_other_frameworks_are_read(tmp_path: Path):
    # PyTorch/XLA gives all parameters one name; TensorFlow names none.
    text = LOST.replace("op_name=\"state[\\'a\\']\"", 'op_type="xla__data" op_name="xla__data"')
    text = text.replace('op_name="x"', 'op_name="xla__data"').replace("jit_step", "SyncTensors.7")
    (tmp_path / "torch.txt").write_text(text.replace("may-alias", "must-alias"))
    found = ledger(tmp_path / "torch.txt")
    assert found.function == "SyncTensors.7"
    assert [each.path for each in found.entries] == ["parameter 0", "parameter 1"]
    assert [each.path for each in found.lost] == ["parameter 1"]
    (tmp_path / "tf.txt").write_text(
        "HloModule a_inference_f_12__.9, is_scheduled=true, input_output_alias={ {0}: (1, {}, "
        "may-alias) }\n\nENTRY main.9 {\n  arg0.1 = f32[4]{0} parameter(0)\n"
        "  arg1.2 = f32[4]{0} parameter(1)\n"
        "  add.3 = f32[4]{0} add(arg0.1, arg1.2)\n  ROOT tuple.4 = (f32[4]{0}) tuple(add.3)\n}\n"
    )
    found = ledger(tmp_path / "tf.txt")
    assert [(each.path, each.bytes) for each in found.entries] == [("parameter 1", 16)]
    assert found.lost == ()


def test_a_text_without_a_buffer_assignment_names_its_copies():
    found = ledger(FOLDER.parent / "modules" / "jax-0.12.0.1-tpu" / "crossed.txt")
    assert [(each.instruction, each.costs) for each in found.copies] == [("copy.3", None)]
    assert any("`copy.3` copies 268,435,456 bytes" in note for note in found.notes)


def test_bytes_of_a_host_leaf_are_counted_beside_those_of_the_device():
    path = FOLDER / "tpu-0.12.0.1"
    (group,) = (each for each in find(path) if "jit_f." in each.name)
    found = read(group).ledger
    assert found is not None
    assert [each.leaf.spec.memory_kind for each in found.entries] == ["host", None]
    assert found.live is not None
    assert found.live.alias == 4194304
    assert not any("cannot account" in note for note in found.notes)


# Names of files


@pytest.mark.parametrize(
    ("name", "module", "stage"),
    [
        ("module_0001.jit_f.before_optimizations.txt", "module_0001.jit_f", Stage.BEFORE),
        ("module_0001.jit_f.cpu_after_optimizations.txt", "module_0001.jit_f", Stage.AFTER),
        ("module_0001.jit_f.sm_9.0a_gpu_after_optimizations.hlo.pb", "module_0001.jit_f", "pb"),
        ("module_0.f.cl_1.after_optimizations.txt", "module_0.f.cl_1", Stage.AFTER),
        ("module_0.f.cl_1.oom_intermediate_module.txt", "module_0.f.cl_1", Stage.AFTER),
        ("module_0.f.cpu_after_optimizations-live-range.txt", "module_0.f", Stage.RANGES),
        ("module_0.f.cpu_after_optimizations-buffer-assignment.txt", "module_0.f", "buffers"),
        ("module_0.f.cpu_after_optimizations-buffer-assignment-values.txt", None, None),
        ("module_0.f.0003.after_fusion.before_pipeline-end.txt", None, None),
        ("module_0.f.thunk_sequence.txt", None, None),
        (
            "module_0.after_optimizations.before_optimizations.txt",
            "module_0.after_optimizations",
            0,
        ),
        ("saved.txt", "saved.txt", Stage.UNKNOWN),
        ("step.mlir", "step.mlir", Stage.MLIR),
        ("kernel.ll", None, None),
    ],
)
def test_what_a_file_is_shows_in_its_name(name: str, module: str | None, stage: Any):
    found = stage_of(name)
    if module is None:
        assert found is None
        return
    assert found is not None
    stages = {"pb": Stage.AFTER, "buffers": Stage.ASSIGNMENT, 0: Stage.BEFORE}
    assert found[:2] == (module, stages.get(stage, stage))


def test_a_named_file_brings_what_belongs_to_it():
    path = FOLDER / "cpu-0.12.0.1" / "module_0032.jit__lambda.cpu_after_optimizations.txt"
    (group,) = find(path)
    assert set(group.files) == {Stage.BEFORE, Stage.AFTER, Stage.ASSIGNMENT, Stage.RANGES}
    assert read(group).ledger == ledger_of(FOLDER / "cpu-0.12.0.1", "module_0032.jit__lambda")


def ledger_of(folder: Path, name: str) -> Ledger | None:
    (group,) = (each for each in find(folder) if each.name == name)
    return read(group).ledger


# Folders


def test_a_folder_is_ranked_by_lost_bytes(tmp_path: Path):
    for number, size in enumerate((10, 3000, 200)):
        text = LOST.replace("f32[4,4]", f"f32[{size},4]").replace("jit_step", f"step{number}")
        (tmp_path / f"module_000{number}.s.cpu_after_optimizations.txt").write_text(text)
    (tmp_path / "module_0009.quiet.cpu_after_optimizations.txt").write_text(
        "HloModule quiet, is_scheduled=true\n"
    )
    ended = hlo("--top", "2", "--report", "out.txt", tmp_path, cwd=tmp_path)
    lines = ended.out.splitlines()
    rows = [line.split() for line in lines if "module_000" in line and "next" not in line]
    assert [row[-2] for row in rows] == ["module_0001.s", "module_0002.s"]
    assert lines[1].startswith("3 of 3 modules that donate lose 50.16 KiB (51,360 bytes) of")
    assert "and 1 more module; `--top 3` shows all" in lines
    assert "1 module donates nothing" in lines
    assert (tmp_path / "out.txt").read_text("utf-8") == ended.out
    assert ended.code == 1
    more = ("--expand", "--html", "out.html", "--format", "csv=out.csv")
    wide = hlo("--top", "2", *more, tmp_path, cwd=tmp_path).out
    assert wide.count("✗ granted DT301") == 2
    assert (tmp_path / "out.csv").read_text("utf-8").count("DT301") == 3  # all, not the top two
    assert (tmp_path / "out.html").read_text("utf-8").startswith("<!doctype html>")


def test_nothing_lost_is_exit_code_0_and_nothing_to_read_2(tmp_path: Path):
    path = tmp_path / "fine.txt"
    path.write_text(LOST.replace("buffer_donor={ (1, {}) }, ", ""))
    assert hlo(path, cwd=tmp_path).code == 0
    path.write_text("HloModule quiet, is_scheduled=true\n")
    quiet = hlo(path, cwd=tmp_path)
    assert quiet.code == 0
    assert "no module says that anything is donated" in quiet.out
    for place in ("nowhere", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        ended = hlo(place, cwd=tmp_path)
        assert ended.code == 2
        assert len(ended.err.splitlines()) == 1
        assert "Traceback" not in ended.err
    path.write_text("not a module")
    ended = hlo(path, cwd=tmp_path)
    assert ended.code == 2
    assert ended.out == ""


def test_files_that_cannot_be_read_are_a_line_each_and_the_rest_is_read(tmp_path: Path):
    whole = LOST.encode()
    files = {
        "module_0001.good.cpu_after_optimizations.txt": whole,
        "module_0002.empty.cpu_after_optimizations.txt": b"",
        "module_0003.cut.cpu_after_optimizations.txt": whole[:90],
        "module_0004.foreign.cpu_after_optimizations.txt": b"\x7fELF\x00\x01",
        "module_0005.broken.cpu_after_optimizations.hlo.pb": b"\x0a\xff\xff",
        "module_0006.zeros.cpu_after_optimizations.txt": bytes(5000),
        "notes\n\x1b[31m.txt": b"remember the milk",
        "saved.mlir": b"module @f { func.func public @main(%arg0: tensor<",
        "bytecode.mlir": b"ML\xefR\x00\x01",
        "kernel.ll": b"define void @f()",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    ended = hlo("--json", "out.json", tmp_path, cwd=tmp_path)
    assert ended.code == 1
    lines = ended.err.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("donatree: cannot read `") for line in lines)
    assert "\x1b" not in ended.err
    told = {line.split("`")[1].split("/")[-1]: line.rpartition("`: ")[2] for line in lines}
    assert "the file is empty" in told["module_0002.empty.cpu_after_optimizations.txt"]
    assert "MLIR bytecode" in told["bytecode.mlir"]
    assert "breaks off" in told["saved.mlir"]
    unread = json.loads((tmp_path / "out.json").read_text("utf-8"))["unread"]
    assert len(unread) == 8
    assert "8 files could not be read" in ended.out


def test_a_text_that_breaks_off_below_its_header_still_tells_of_donation(tmp_path: Path):
    path = tmp_path / "cut.txt"
    path.write_text(LOST[: LOST.index("%convert")])
    found = ledger(path)
    assert [each.path for each in found.lost] == ["parameter 1"]
    assert any("copies were not looked for" in note for note in found.notes)


def test_a_broken_buffer_assignment_is_said_and_the_verdict_stays(tmp_path: Path):
    folder = only(Path("cpu-0.12.0.1"), "module_0026", tmp_path / "dump")
    (path,) = folder.glob("*-buffer-assignment.txt")
    path.write_text(path.read_text("utf-8").replace("allocation 1", "allocation one"))
    found = ledger(folder)
    assert [each.path for each in found.lost] == ["a"]
    assert found.live is None
    assert any("buffer assignment cannot be read at line" in note for note in found.notes)


# Large files


MEASURED = """
import resource, sys
from pathlib import Path
from donatree.cli import group
code = group.main(["hlo", "--json", "out.json", sys.argv[1]], standalone_mode=False)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
status = Path("/proc/self/status")
if status.exists():  # without what the process was forked from, which `ru_maxrss` has in it
    lines = status.read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
print("RSS", peak // 1024)
sys.exit(code)
"""


def large(path: Path, hole: int) -> None:
    """A module text of 1 GiB and more: much of it real text, the most of it one line of zeros."""
    leaves = 2000
    shape = "f32[1024,1024]{1,0}"
    aliases = ", ".join(f"{{{n}}}: ({n}, {{}}, may-alias)" for n in range(leaves - 1))
    shapes = ", ".join([shape] * leaves)
    line = '  %a.1 = f32[1024]{0} add(%p.0, %p.1), metadata={op_name="jit(step)/add"}\n'
    computation = "%fused.{} (p: f32[1024]) -> f32[1024] {{\n".format
    with path.open("wb") as file:
        file.write(
            f"HloModule jit_step, is_scheduled=true, input_output_alias={{ {aliases} }}, "
            f"buffer_donor={{ ({leaves - 1}, {{}}) }}, "
            f"entry_computation_layout={{({shapes})->({shapes})}}\n\n".encode()
        )
        for number in range(400):
            file.write((computation(number) + line * 1000 + "}\n\n").encode())
        file.seek(hole, 1)  # a sparse file, so that a disk need not hold it
        file.write(b"\n\nENTRY %main (x: f32[1]) -> f32[1] {\n")
        for number in range(leaves):
            name = f"metadata={{op_name=\"state['layer'][{number}]\"}}"
            file.write(f"  %x.{number} = {shape} parameter({number}), {name}\n".encode())
        operands = ", ".join(f"%x.{number}" for number in range(leaves))
        file.write(f"  ROOT %t = ({shapes}) tuple({operands})\n}}\n".encode())


def test_a_file_of_a_gibibyte_takes_less_than_200_mebibytes(tmp_path: Path):
    path = tmp_path / "large.txt"
    large(path, 1 << 30)
    assert path.stat().st_size > 1 << 30
    ended = python("-c", MEASURED, str(path), cwd=tmp_path)
    path.unlink()
    assert ended.code == 1, ended.err
    assert int(ended.out.rpartition("RSS ")[2]) < 200
    report = json.loads((tmp_path / "out.json").read_text("utf-8"))
    (found,) = report["ledgers"]
    (lost,) = [each["path"] for each in found["entries"] if each["stopped_at"]]
    assert lost == "state['layer'][1999]", "the names at the end of the file were read"
    assert any("MiB" in note and "nothing was read" in note for note in found["notes"])


@pytest.mark.parametrize("content", [b"", b"HloModule x", b"HloModule x, \nENTRY %main {\n"])
def test_a_large_file_of_nothing_is_a_line_or_a_module_without_donation(
    content: bytes, tmp_path: Path
):
    path = tmp_path / "zeros.txt"
    with path.open("wb") as file:
        file.write(content)
        file.truncate(80 << 20)
    (group,) = find(path)
    reading = read(group)
    assert reading.ledger is None
    if not content.endswith(b"{\n"):
        assert reading.unread is not None
        assert "\n" not in reading.unread


# Damaged dumps


def saved_modules() -> list[Group]:
    return [
        group for folder in sorted(FOLDER.iterdir()) if folder.is_dir() for group in find(folder)
    ]


SAVED = saved_modules()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_damaged_dump_is_read_or_said_in_one_line(tmp_path: Path, data: st.DataObject):
    group = data.draw(st.sampled_from(SAVED))
    files = {}
    for number, (stage, path) in enumerate(group.files.items()):
        content = path.read_bytes()
        for _ in range(data.draw(st.integers(0, 2))):
            at = data.draw(st.integers(0, len(content)))
            length = data.draw(st.sampled_from([0, 1, 9, 300, 10**6]))
            other = data.draw(
                st.sampled_from([b"", b"0", b"\n", b"}", b"{", b"(", b"9" * 25, b"\xff\x00", b"#1"])
            )
            content = content[:at] + other + content[at + length :]
        files[stage] = tmp_path / f"{number}.{path.name}"
        files[stage].write_bytes(content)
    reading = read(Group(group.name, files))
    assert (reading.unread is None) or "\n" not in reading.unread
    if reading.ledger is not None:
        json.dumps(reading.ledger.to_dict())


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_damaged_protobuf_and_stablehlo_are_read_or_said_in_one_line(
    dumped: Path, tmp_path: Path, data: st.DataObject
):
    proto = next(dumped.glob("*step*after_optimizations.hlo.pb")).read_bytes()
    name, content = data.draw(
        st.sampled_from([("step.hlo.pb", proto), ("step.mlir", STABLEHLO.encode())])
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        length = data.draw(st.sampled_from([0, 1, 2, 50, 10**6]))
        other = data.draw(st.binary(max_size=3) | st.sampled_from([b'"', b"(", b"<", b"}", b"\\"]))
        content = content[:at] + other + content[at + length :]
    path = tmp_path / name
    path.write_bytes(content)
    (group,) = find(path)
    reading = read(group)
    assert (reading.unread is None) or "\n" not in reading.unread
    if reading.ledger is not None:
        json.dumps(reading.ledger.to_dict())


def test_the_damage_is_often_seen(tmp_path: Path):
    (group,) = (each for each in SAVED if "module_0069" in each.name)
    whole = read(group)
    after = group.files[Stage.AFTER]
    content = after.read_bytes()
    changed = 0
    for at in range(0, 600, 20):
        path = tmp_path / after.name
        path.write_bytes(content[:at] + b"}" + content[at:])
        changed += read(Group(group.name, {**group.files, Stage.AFTER: path})) != whole
    assert changed > 20


# Names that no terminal should act on


def test_hostile_names_are_printed_and_not_acted_on(tmp_path: Path):
    text = LOST.replace("state[\\'a\\']", "\\033[31mred\\007[/bold]")
    (tmp_path / "[bold]\x1b[2J.txt").write_text(text)
    ended = hlo(tmp_path, cwd=tmp_path)
    assert ended.code == 1
    assert "\x1b" not in ended.out + ended.err
    assert "\x07" not in ended.out
    assert "\\x1b[31mred\\x07[/bold]" in ended.out


def test_the_bar_is_for_terminals_alone():
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file, terminal = io.StringIO(), Terminal()
    assert list(progress.tracked(range(3), 3, "modules", file)) == [0, 1, 2]
    assert file.getvalue() == ""
    assert list(progress.tracked(range(3), 3, "modules", terminal)) == [0, 1, 2]
    assert "modules" in terminal.getvalue()
