"""`--target` on `run`, `audit` and `advise`, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from donatree.targets import packages

tpu = pytest.mark.skipif(packages.why_not("tpu") is not None, reason=str(packages.why_not("tpu")))
gpu = pytest.mark.skipif(packages.why_not("gpu") is not None, reason=str(packages.why_not("gpu")))

PROGRAM = """
    import os
    os.environ["JAX_ENABLE_X64"] = "1"
    import jax, jax.numpy as jnp, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    print("noise of the file")

    def wide(state):
        return {"w": state["w"] * 2, "z": state["z"].astype(jnp.bfloat16)}

    def split():
        mesh = Mesh(np.array(jax.devices()), ("x",))
        over = NamedSharding(mesh, P("x"))
        w = jax.ShapeDtypeStruct((1024, 1024), jnp.float32, sharding=over)
        return jax.jit(wide, donate_argnums=0), ({"w": w, "z": w},)

    def whole():
        w = jax.ShapeDtypeStruct((64, 128), jnp.float64)
        return jax.jit(lambda w: w * 2, donate_argnums=0), (w,)

    def odd():
        w, n = jax.ShapeDtypeStruct((1024, 3), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32)
        return jax.jit(lambda s: (s[0] * 2, s[1] + 1), donate_argnums=0), ((w, n),)

    def swapped():
        w = jax.ShapeDtypeStruct((512, 512), jnp.float32)
        return jax.jit(lambda s: (s[1] * 2, s[0] * 2), donate_argnums=0), ((w, w),)

    def eight():
        mesh = Mesh(np.array(jax.devices()[:8]).reshape(8), ("x",))
        w = jax.ShapeDtypeStruct((64, 64), jnp.float32, sharding=NamedSharding(mesh, P("x")))
        return jax.jit(lambda w: w * 2, donate_argnums=0), (w,)

    def large():
        w = jax.ShapeDtypeStruct((32768, 65536), jnp.float32)
        return jax.jit(lambda w: (w[::-1] @ w.T) @ w, donate_argnums=0), (w,)

    def larger():
        w = jax.ShapeDtypeStruct((65536, 65536), jnp.float32)
        return jax.jit(lambda w: w[::-1] * 2, donate_argnums=0), (w,)

    def calls_back():
        def step(x):
            jax.debug.print("{}", x.sum())
            return x * 2
        return jax.jit(step, donate_argnums=0), (jax.ShapeDtypeStruct((64, 64), jnp.float32),)

    def raises():
        raise ValueError("not today")

    def train(state, batch):
        w, m = state
        m = 0.9 * m + batch.T @ (batch @ w)
        return (w - 0.1 * m, m), m.sum()

    step = jax.jit(train)

    def loop(state, batches):
        for batch in batches:
            state, loss = step(state, batch)
        return state

    def undonated():
        w = jax.ShapeDtypeStruct((1024, 1024), jnp.float32)
        return step, ((w, w), jax.ShapeDtypeStruct((64, 1024), jnp.float32))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    return file


def donatree(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "donatree", *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "110", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def audit(
    program: Path, name: str, *targets: str, more: tuple[str, ...] = ()
) -> tuple[subprocess.CompletedProcess[str], dict]:
    chosen = [word for target in targets for word in ("--target", target)]
    file = program.parent / "report.json"
    words = ["audit", f"{program.name}::{name}", *chosen, "--json", str(file), *more]
    run = donatree(*words, cwd=program.parent)
    assert "Traceback" not in run.stderr + run.stdout, run
    return run, json.loads(file.read_text()) if file.exists() else {}


def test_devices_of_the_host_as_many_as_wanted(program: Path) -> None:
    run, report = audit(program, "split", "host:4", "host:8")
    assert run.returncode == 1, run
    assert [(each["target"]["name"], each["devices"]) for each in report["ledgers"]] == [
        ("host:4", 4),
        ("host:8", 8),
    ]
    assert [each["promised_bytes"] for each in report["ledgers"]] == [2 * 2**20, 2**20]
    assert len({each["signature"] for each in report["ledgers"]}) == 1
    assert "noise" not in run.stdout + run.stderr


def test_what_the_file_sets_before_it_imports_jax_holds(program: Path) -> None:
    run, report = audit(program, "whole", "host:2")
    assert run.returncode == 0, run
    (ledger,) = report["ledgers"]
    assert ledger["entries"][0]["dtype"] == "float64"


@pytest.mark.parametrize(
    ("name", "targets", "said"),
    [
        ("none", ("host:2",), "donatree: `program.py` has no `none`"),
        ("none", ("host:2", "host:4"), "donatree: `program.py` has no `none`"),
        ("raises", ("host:2",), "donatree: `raises` in `program.py` raised ValueError: not today"),
        ("whole", ("tpu:v5e",), "has no shape"),
        ("whole", ("host:2", "cuda:h1000"), "near it is `cuda:h100`"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    program: Path, name: str, targets: tuple[str, ...], said: str
) -> None:
    run, report = audit(program, name, *targets)
    assert (run.returncode, run.stdout, report) == (2, "", {})
    assert said in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_a_target_that_cannot_be_does_not_hide_the_others(program: Path) -> None:
    run, report = audit(program, "eight", "host:2", "host:8")
    assert run.returncode == 0, run
    (ledger,) = report["ledgers"]
    assert ledger["target"]["name"] == "host:8"
    (refusal,) = report["refusals"]
    assert refusal["target"] == "host:2"
    assert "host:2" in run.stdout


@pytest.mark.parametrize("platform", ["tpu", "gpu"])
def test_without_its_packages_a_target_says_what_to_install(program: Path, platform: str) -> None:
    why = packages.why_not(platform)
    if why is None:
        pytest.skip("they are installed")
    target = {"tpu": "tpu:v5e:2x2", "gpu": "cuda:h100"}[platform]
    run, report = audit(program, "whole", target)
    assert (run.returncode, run.stderr, report) == (2, f"donatree: {why}\n", {})
    script = program.parent / "script.py"
    script.write_text("print('ran')\n")
    run = donatree("run", "--target", target, "script.py", cwd=program.parent)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"donatree: {why}\n")


@tpu
def test_side_by_side(program: Path) -> None:
    run, report = audit(program, "swapped", "host", "tpu:v5e:2x2")
    host, other = report["ledgers"]
    assert (host["target"], other["target"]["kind"]) == (None, "TPU v5 lite")
    assert [e["stopped_at"] for e in other["entries"]] == [None, None]
    assert other["fits"] is True
    assert other["live"]["total"] == 2 * 2**20 + 1024  # the table of the outputs, a copy's record
    assert host["copies"]
    assert other["copies"] == []
    assert "only the CPU makes this copy" in run.stdout
    assert run.returncode == 1  # for what the CPU does


@tpu
@gpu
def test_three_targets_are_one_table(program: Path) -> None:
    run, report = audit(program, "swapped", "host", "tpu:v5e:2x2", "cuda:h100")
    assert [each["platform"] for each in report["ledgers"]] == ["cpu", "tpu", "gpu"]
    assert len({each["signature"] for each in report["ledgers"]}) == 1
    lost = [[e["stopped_at"] for e in each["entries"]] for each in report["ledgers"]]
    assert lost == [["in_place"] * 2, [None] * 2, [None, "in_place"]]
    heads = [line.split()[-3:] for line in run.stdout.splitlines() if "bytes" in line]
    assert ["host", "tpu:v5e:2x2", "cuda:h100"] in heads


@tpu
def test_padding_is_in_the_bytes(program: Path) -> None:
    run, report = audit(program, "odd", "tpu:v5e:2x2")
    (ledger,) = report["ledgers"]
    assert [e["bytes"] for e in ledger["entries"]] == [4 * 1024 * 4, 512]  # of 3 * 1024 * 4, and 4
    assert ledger["promised_bytes"] == 16384 + 512
    assert ledger["promised_global_bytes"] == 12288 + 4
    assert "pads arrays to its own layout" in run.stdout


@tpu
def test_bytes_are_those_of_a_shard(program: Path) -> None:
    _, report = audit(program, "split", "tpu:v5e:2x2")
    (ledger,) = report["ledgers"]
    assert ledger["platform"] == "tpu"
    assert {e["path"]: e["stopped_at"] for e in ledger["entries"]} == {
        "state['w']": None,
        "state['z']": "granted",
    }
    assert ledger["entries"][0]["sharding"] == "P('x', None) on (x: 4)"
    assert [e["bytes"] for e in ledger["entries"]] == [2**20, 2**20]  # of 4 MiB each


@tpu
def test_a_program_that_does_not_fit_is_a_result(program: Path) -> None:
    run, report = audit(program, "large", "tpu:v5e:2x2")
    (ledger,) = report["ledgers"]
    assert ledger["fits"] is False
    assert ledger["live"]["total"] > 16 * 2**30 > ledger["target"]["memory_bytes"]
    assert ledger["leaves_after"]["granted"] == 1
    assert {"w": 8 * 2**30}.items() <= {e["what"]: e["bytes"] for e in ledger["largest"]}.items()
    assert "does not fit" in run.stdout


@tpu
def test_full_gives_the_same_verdict(program: Path) -> None:
    stopped = audit(program, "swapped", "tpu:v5e:2x2")[1]["ledgers"][0]
    whole = audit(program, "swapped", "tpu:v5e:2x2", more=("--full",))[1]["ledgers"][0]
    assert stopped == whole


@tpu
def test_prove_compiles_the_twin_for_the_target(program: Path) -> None:
    _, report = audit(program, "swapped", "tpu:v5e:2x2", more=("--prove",))
    (ledger,) = report["ledgers"]
    assert ledger["saved_bytes"] == 2 * 2**20
    assert ledger["undonated"]["total"] > ledger["live"]["total"]


@tpu
def test_a_cure_is_tried_on_the_target(program: Path) -> None:
    run, report = audit(program, "split", "tpu:v5e:2x2")
    fixes = report["ledgers"][0]["fixes"]
    assert [fix["status"] for fix in fixes] == ["held"], run.stdout
    assert fixes[0]["after"]["in_place_bytes"] == 2 * 2**20


@tpu
def test_more_devices_than_the_target_has(program: Path) -> None:
    run, report = audit(program, "eight", "tpu:v5e:2x2", "tpu:v5e:2x4")
    assert [each["target"]["name"] for each in report["ledgers"]] == ["tpu:v5e:2x4"]
    (refusal,) = report["refusals"]
    assert refusal["target"] == "tpu:v5e:2x2"
    assert len(refusal["why"].splitlines()) == 1
    assert run.returncode == 0


@gpu
def test_what_a_gpu_refuses_is_said_in_one_line(program: Path) -> None:
    run, report = audit(program, "calls_back", "host", "cuda:h100")
    assert [each["platform"] for each in report["ledgers"]] == ["cpu"]
    assert [each["why"] for each in report["refusals"]] == [
        "it calls back into Python, which JAX compiles for a GPU only where there is one"
    ]
    assert "it calls back into Python" in run.stdout


@gpu
def test_a_gpu_never_refuses_so_its_memory_is_compared(program: Path) -> None:
    _, report = audit(program, "larger", "cuda:l4")
    (ledger,) = report["ledgers"]
    assert (ledger["fits"], ledger["platform"]) == (False, "gpu")
    assert any("estimate" in note for note in ledger["notes"])


@tpu
def test_advice_is_measured_on_the_target(program: Path) -> None:
    file = program.parent / "advice.json"
    words = ["advise", "program.py::undonated", "--target", "tpu:v5e:2x2", "--json", str(file)]
    run = donatree(*words, cwd=program.parent)
    assert run.returncode == 1, run
    (told,) = json.loads(file.read_text())["functions"]
    assert told["target"] == "tpu:v5e:2x2"
    assert told["keyword"] == "donate_argnums=0"
    by_name = {each["argument"]: each for each in told["advice"]}
    assert by_name["state"]["measured"]
    assert by_name["state"]["saved_bytes"] > 7.5 * 2**20
    assert "for tpu:v5e:2x2" in run.stdout
    assert "measured by compiling for tpu" in run.stdout


SCRIPT = """
    import jax, jax.numpy as jnp

    def step(state, x):
        return {"w": state["w"] * 2 + x, "z": (state["z"] * x.sum()).astype(jnp.bfloat16)}

    train_step = jax.jit(step, donate_argnums=0)
    state = {"w": jnp.ones((256, 256)), "z": jnp.ones((256, 256))}
    state = train_step(state, jnp.ones((256, 256)))
    print(float(state["w"].sum()))
    raise SystemExit(3)
"""


@tpu
def test_run_compiles_what_the_program_compiled(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT))
    words = ["--target", "host", "--target", "tpu:v6e:2x2", "--json", "report.json", "train.py"]
    run = donatree("run", *words, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (3, "196608.0\n")
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["faults"] == []
    here, there = report["ledgers"]
    assert (here["platform"], there["platform"]) == ("cpu", "tpu")
    assert here["signature"] == there["signature"]
    assert there["target"]["name"] == "tpu:v6e:2x2"
    assert {e["path"]: e["finding"] for e in there["entries"]}["state['z']"] == "DT402"
    (finding,) = [each for each in there["findings"] if each["code"] == "DT402"]
    assert finding["location"]["line"] == 5  # where the run found it
    assert "tpu:v6e:2x2" in run.stderr


@tpu
def test_in_python(program: Path) -> None:
    script = """
        import donatree, jax, jax.numpy as jnp
        step = jax.jit(lambda w: w * 2, donate_argnums=0)
        w = jax.ShapeDtypeStruct((512, 512), jnp.float32)
        with donatree.target("tpu:v5e:2x2") as target:
            print(target.kind, donatree.audit(step, w).platform, donatree.prove(step, w).saved)
            print(float(step(jnp.ones((512, 512))).sum()))  # runs here
        print(donatree.audit(step, w).platform)
    """
    (program.parent / "script.py").write_text(textwrap.dedent(script))
    run = subprocess.run(
        [sys.executable, "script.py"],
        cwd=program.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.splitlines() == ["TPU v5 lite tpu 1048576", "524288.0", "cpu"], run


def test_the_file_cannot_take_the_targets_devices_away(program: Path) -> None:
    text = program.read_text()
    flag = 'import os\nos.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"\n'
    program.write_text(flag + text)
    _, report = audit(program, "split", "host:4")
    assert [each["devices"] for each in report["ledgers"]] == [4]


@tpu
def test_a_file_that_makes_its_own_devices_is_refused_and_not_believed(program: Path) -> None:
    text = program.read_text()
    program.write_text(text + '\njax.config.update("jax_num_cpu_devices", 2)\n')
    run, report = audit(program, "split", "tpu:v5e:2x2")
    assert (run.returncode, report) == (2, {})
    assert run.stderr == ("donatree: the file gives JAX 2 devices where `tpu:v5e:2x2` has 4\n")
