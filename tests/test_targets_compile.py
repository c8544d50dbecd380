"""Compiling for hardware that is not there: what is dumped, and whatever goes wrong."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from donatree.shipment import Shipment
from donatree.targets import environment, packages
from donatree.targets.checks import checked
from donatree.targets.compiler import Compiler
from donatree.targets.dumped import Dumped
from donatree.targets.faults import NotCompiled, NotInstalled
from donatree.targets.files import DumpFolder
from donatree.targets.names import read_target
from donatree.targets.wanted import Wanted
from programs import environment as process_environment
from shipments import PROGRAMS, array, ship

NAMES = {"tpu": "tpu:v5e:2x2", "gpu": "cuda:h100"}
NO_TPU, NO_GPU = packages.why_not("tpu"), packages.why_not("gpu")

tpu = pytest.mark.skipif(NO_TPU is not None, reason=str(NO_TPU))
gpu = pytest.mark.skipif(NO_GPU is not None, reason=str(NO_GPU))
both = pytest.mark.parametrize(
    "platform", [pytest.param("tpu", marks=tpu), pytest.param("gpu", marks=gpu)]
)


def shipped(program: str, platform: str, **more: Any) -> Shipment:
    function, args = PROGRAMS[program]
    return ship(function, *args, platform=platform, **more)


def compiled(name: str, shipment: Shipment, **options: Any) -> tuple[Dumped, dict[str, str]]:
    """What was dumped and, since the files go, their text."""
    with Compiler(read_target(name), **options) as compiler:
        dumped = compiler.compile(shipment)
        return dumped, _texts(dumped)


def _texts(dumped: Dumped) -> dict[str, str]:
    files = {field.name: getattr(dumped, field.name) for field in dataclasses.fields(dumped)}
    return {name: file.read_text() for name, file in files.items() if isinstance(file, Path)}


def aliases(texts: dict[str, str]) -> int:
    return texts["module"].partition("\n")[0].count("may-alias")


def totals(texts: dict[str, str]) -> list[str]:
    lines = texts["memory_report"].splitlines()
    return [line for line in lines if line.startswith("Total bytes")]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Temporary folders are made in one that is empty again after each test."""
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    yield path
    assert not list(path.iterdir())


# What is dumped.


@both
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_early_stop_dumps_what_the_whole_compile_dumps(platform: str, program: str) -> None:
    shipment = shipped(program, platform)
    early, texts = compiled(NAMES[platform], shipment)
    full, whole = compiled(NAMES[platform], shipment, full=True)
    assert aliases(texts) == {"momentum": 4, "swap": 2, "reversed": 1, "halved": 0}[program]
    assert totals(texts)
    assert totals(texts) == totals(whole)
    assert _stable(texts["module"]) == _stable(whole["module"])
    assert early.complete == (early.statistics is not None)
    assert full.complete
    assert full.statistics is not None
    assert full.statistics["argument_size_in_bytes"] > 0
    assert full.unfinished is None


def _stable(text: str) -> list[str]:
    """Lines without what is of one compile only, and how a GPU's kernels are to be made."""
    lines = (line.partition("fingerprint_before_lhs")[0] for line in text.splitlines())
    return [line.partition(", backend_config=")[0] for line in lines]


@both
def test_the_early_stop_is_one(platform: str) -> None:
    dumped, texts = compiled(NAMES[platform], shipped("momentum", platform))
    if "live_ranges" in texts:  # older versions write none, which is waited for
        assert (dumped.complete, dumped.statistics, dumped.unfinished) == (False, None, None)


@both
def test_it_is_compiled_for_the_target_and_not_for_this_machine(platform: str) -> None:
    dumped, texts = compiled(NAMES[platform], shipped("swap", platform))
    assert dumped.platform == platform
    assert dumped.kind == {"tpu": "TPU v5 lite", "gpu": "NVIDIA H100 80GB HBM3"}[platform]
    layout = {"tpu": "{1,0:T(8,128)}", "gpu": "sm_9.0a_gpu"}[platform]
    assert layout in texts["module"].partition("\n")[0] + dumped.module.name
    assert dumped.before.name.endswith(".before_optimizations.txt")


@tpu
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tpu:v2:1x1", "TPU v2"),
        ("tpu:v4:2x2x1", "TPU v4"),
        ("tpu:v5e:1x1", "TPU v5 lite"),
        ("tpu:v5e:1x2", "TPU v5 lite"),
        ("tpu:v5p:2x2x1", "TPU v5"),
        ("tpu:v6e:2x4", "TPU v6 lite"),
        ("tpu:tpu7x:1x1x1", "TPU7x"),
    ],
)
def test_each_tpu_has_the_devices_that_its_name_says(name: str, kind: str) -> None:
    # A v4 chip would be two devices unless its compiler is told otherwise, and 1x1 none.
    try:
        dumped, texts = compiled(name, shipped("swap", "tpu"))
    except NotCompiled as error:
        if "this libtpu does not know the TPU" in str(error) and kind == "TPU7x":
            pytest.skip(str(error))
        raise
    assert (dumped.kind, aliases(texts)) == (kind, 2)


@gpu
@pytest.mark.parametrize("name", ["cuda:a100", "cuda:b200", "cuda:l4", "cuda:rtx4090:1x1x2"])
def test_each_gpu_compiles(name: str) -> None:
    dumped, texts = compiled(name, shipped("momentum", "gpu"))
    assert (dumped.kind, aliases(texts)) == (read_target(name).kind, 4)


@tpu
def test_a_program_that_does_not_fit_is_refused_with_its_aliases() -> None:
    shipment = ship(lambda s: (s[::-1] @ s.T) @ s, array(32768, 65536))
    for full in (False, True):
        dumped, texts = compiled("tpu:v5e:1x1", shipment, full=full)
        if dumped.refused is None:  # libtpu before 0.0.42 looks after generating code
            assert not full
        else:
            assert dumped.refused.startswith("RESOURCE_EXHAUSTED: ")
            assert "\n" not in dumped.refused
        assert (aliases(texts), dumped.complete, dumped.unfinished) == (1, False, None)
        assert "18.00GiB" in totals(texts)[0]


@both
def test_several_programs_go_through_one_compiler(platform: str) -> None:
    with Compiler(read_target(NAMES[platform]), full=True) as compiler:
        first = compiler.compile(shipped("swap", platform))
        pid = compiler._worker and compiler._worker.pid
        second = compiler.compile(shipped("halved", platform))
        assert compiler._worker is not None
        assert compiler._worker.pid == pid
        assert [aliases(_texts(each)) for each in (first, second)] == [2, 0]


@tpu
def test_arguments_can_be_one_tuple() -> None:
    _, texts = compiled(NAMES["tpu"], shipped("swap", "tpu", tupled=True))
    assert "(0, {1}, may-alias)" in texts["module"].partition("\n")[0]


_SHARDED = """
import pickle, sys
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from shipments import array, ship
sharding = NamedSharding(Mesh(np.array(jax.devices()[:4]), ("x",)), PartitionSpec("x"))
made = ship(lambda s: s @ s.T, array(1024, 1024, sharding=sharding), platform=sys.argv[1],
            devices=(0, 1, 2, 3))
open(sys.argv[2], "wb").write(pickle.dumps(made))
"""


@both
def test_a_sharded_program_is_compiled_for_its_places(platform: str, tmp_path: Path) -> None:
    wanted = read_target({"tpu": "tpu:v5e:2x4", "gpu": "cuda:h100:1x2x4"}[platform])
    shipment = _elsewhere(_SHARDED, platform, wanted, tmp_path)
    for devices in ((0, 1, 2, 3), (3, 2, 1, 0)):
        with Compiler(wanted) as compiler:
            dumped = compiler.compile(dataclasses.replace(shipment, devices=devices))
            texts = _texts(dumped)
            configs = [each.read_text() for each in dumped.module.parent.glob("*config.*")]
            places = re.findall(r"replica_device_ids: (\d+)", "".join(configs))
        assert tuple(map(int, places)) == devices
        assert "num_partitions=4" in texts["module"].partition("\n")[0]
        assert "f32[256,1024]" in texts["module"]


def _elsewhere(code: str, platform: str, wanted: Wanted, folder: Path) -> Shipment:
    import pickle

    env = environment.stand_in_environment(wanted, process_environment())
    env["PYTHONPATH"] += os.pathsep + str(Path(__file__).parent)
    file = folder / "shipment"
    subprocess.run([sys.executable, "-c", code, platform, str(file)], env=env, check=True)
    return pickle.loads(file.read_bytes())


_MOVED = """
import os, sys
from donatree._jax import topology
from donatree.targets.environment import compile_environment
from donatree.targets.names import read_target
wanted = read_target(sys.argv[1])
os.environ.update(compile_environment(wanted))
def gone(*args):
    raise AttributeError("module 'jaxlib.xla_client' has no attribute 'x'")
if sys.argv[2] == "moved":
    topology._tpu_devices_of = topology._gpu_devices_of = gone
if wanted.platform == "tpu":
    devices = topology.tpu_devices(f"{wanted.model}:{wanted.topology}", {})
else:
    devices = topology.gpu_devices(wanted.topology, wanted.description)
print([(each.id, each.platform, each.device_kind) for each in devices], "jax" in sys.modules)
"""


@both
def test_jax_is_asked_for_devices_only_where_the_names_in_jaxlib_have_moved(
    platform: str,
) -> None:
    name = {"tpu": "tpu:v5e:2x2", "gpu": "cuda:h100:1x1x4"}[platform]
    said = [
        subprocess.run(
            [sys.executable, "-c", _MOVED, name, where],
            env=process_environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.rpartition(" ")
        for where in ("there", "moved")
    ]
    assert said[0][0] == said[1][0]
    assert [each[2].strip() for each in said] == ["False", "True"]


# What goes wrong.


@both
def test_several_compile_at_once(platform: str) -> None:
    found: list[Any] = []

    def one() -> None:
        try:
            found.append(aliases(compiled(NAMES[platform], shipped("swap", platform))[1]))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2, 2, 2]


@tpu
def test_without_its_variable_a_second_process_is_locked_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(environment._TPU_FORCED, "ALLOW_MULTIPLE_LIBTPU_LOAD", "0")
    wanted = read_target(NAMES["tpu"])
    with Compiler(wanted, full=True) as first, Compiler(wanted) as second:
        first.compile(shipped("swap", "tpu"))
        with pytest.raises(NotCompiled, match="another process holds libtpu"):
            second.compile(shipped("swap", "tpu"))


@gpu
@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("threads_per_warp", "crashed by SIGFPE, known for a description without `threads_per_w"),
        ("cuda_compute_capability", "XLA read no compute capability for `cuda:h100`"),
        ("", "crashed by SIGFPE"),
    ],
)
@pytest.mark.parametrize("full", [False, True])
def test_a_description_that_lacks_a_field_ends_in_one_line(
    field: str, said: str, full: bool
) -> None:
    wanted = read_target("cuda:h100")
    lines = (wanted.description or "").splitlines()
    kept = [line for line in lines if field and field not in line]
    wanted = dataclasses.replace(wanted, description="\n".join(kept))
    with Compiler(wanted, full=full) as compiler, pytest.raises(NotCompiled, match=said) as caught:
        compiler.compile(shipped("momentum", "gpu"))
    assert "\n" not in str(caught.value)


@gpu
def test_without_core_count_xla_answers_wrongly_so_it_is_asked_for() -> None:
    wanted = read_target("cuda:h100")
    text = (wanted.description or "").replace("  core_count: 132\n", "")
    with Compiler(dataclasses.replace(wanted, description=text)) as compiler:
        shipment = ship(lambda x: x * 2, array(4096, 4096), platform="gpu")
        wrong = _texts(compiler.compile(shipment))
    right = compiled("cuda:h100", shipment)[1]
    assert "64.00MiB" in totals(right)[0]
    assert "128.00MiB" in totals(wrong)[0]


@gpu
def test_a_field_that_this_xla_does_not_know_is_said(tmp_path: Path) -> None:
    file = tmp_path / "mine.txtpb"
    text = read_target("cuda:h100").description or ""
    file.write_text(text.replace("core_count", "nonsense: 1 core_count"))
    with pytest.raises(NotCompiled) as caught:
        compiled(f"cuda:{file}", shipped("swap", "gpu"))
    assert str(caught.value) == (
        f"this XLA knows no field `nonsense` in the description of `cuda:{file}`"
    )


@tpu
def test_a_shape_that_libtpu_refuses_is_said() -> None:
    with pytest.raises(NotCompiled, match="there is no `tpu:v5e:3x3`: libtpu refuses the shape"):
        compiled("tpu:v5e:3x3", shipped("swap", "tpu"))


@both
def test_flags_of_the_user_do_not_end_the_compiler(
    platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_nonsense=1")
    monkeypatch.setenv("JAX_PLATFORMS", platform)
    shipment = shipped("swap", platform)
    assert aliases(compiled(NAMES[platform], shipment)[1]) == 2
    monkeypatch.setattr(environment, "_DROPPED", ())  # or it could pass for nothing
    with pytest.raises(NotCompiled):
        compiled(NAMES[platform], shipment)


@both
def test_dumps_of_the_user_stay_as_they_are(
    platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxlib import xla_client

    shipment = shipped("swap", platform)
    options = xla_client.CompileOptions.ParseFromString(shipment.options)
    debug = options.executable_build_options.debug_options
    debug.xla_dump_to = str(tmp_path / "theirs")
    debug.xla_dump_hlo_as_text = False
    debug.xla_dump_hlo_as_proto = True
    debug.xla_dump_hlo_module_re = "nothing"
    shipment = dataclasses.replace(shipment, options=options.SerializeAsString())
    assert aliases(compiled(NAMES[platform], shipment)[1]) == 2
    assert not (tmp_path / "theirs").exists()


@both
def test_a_program_for_more_devices_than_there_are_is_refused(platform: str) -> None:
    name = {"tpu": "tpu:v5e:2x2", "gpu": "cuda:h100:1x1x4"}[platform]
    for devices in ((0, 1, 2, 3, 4), (7,)):
        shipment = dataclasses.replace(shipped("swap", platform), devices=devices)
        needed = max(devices) + 1
        with pytest.raises(NotCompiled, match=f"it needs {needed} devices, and `{name}` has 4"):
            compiled(name, shipment)


def test_what_xla_would_get_wrong_for_a_gpu_is_refused() -> None:
    plain = Shipment("f", b"", b"", (0,))
    for changed, said in (
        ({"callbacks": True}, "it calls back into Python"),
        ({"memory_kinds": ("pinned_host",)}, "arrays in `pinned_host`, and JAX gives a GPU"),
        ({"module": b"..CustomSPMDPartitioning.."}, "`custom_partitioning` runs Python"),
    ):
        with pytest.raises(NotCompiled, match=said):
            compiled("cuda:h100", dataclasses.replace(plain, **changed))


@tpu
def test_a_donated_array_that_leaves_for_the_host_is_refused_by_name() -> None:
    def away(s: Any) -> Any:
        device = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
        return jax.device_put(s * 2, device)

    shipment = ship(away, array(1024, 1024), memory_kinds=("pinned_host",))
    with pytest.raises(NotCompiled, match="would have to change its memory kind in place"):
        compiled("tpu:v5e:1x1", shipment)


def test_a_package_that_is_missing_is_said_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "version", {"jax": "0.12.0.1"}.get)
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    for name, extra in (("tpu:v5e:2x2", "tpu"), ("cuda:h100", "cuda")):
        with pytest.raises(NotInstalled, match=rf"`pip install 'donatree\[{extra}\]'` brings it"):
            Compiler(read_target(name)).start()


def test_devices_of_another_platform_are_never_taken() -> None:
    wanted = read_target("tpu:v5e:2x2")
    ready = {"platform": ["tpu"], "devices": 4, "kind": "TPU v5 lite"}
    assert checked(wanted, ready, ()) == ready
    with pytest.raises(NotCompiled, match="JAX has devices of cpu for `tpu:v5e:2x2`"):
        checked(wanted, {**ready, "platform": ["cpu"]}, ())
    with pytest.raises(NotCompiled, match="`tpu:v5e:2x2` has 8 devices here, and not 4"):
        checked(wanted, {**ready, "devices": 8}, ())


@both
def test_a_limit_of_seconds_ends_it(platform: str) -> None:
    with pytest.raises(NotCompiled, match=r"0\.01 s"):
        compiled(NAMES[platform], shipped("momentum", platform), timeout=0.01)


# No PTX compiler: in a private view of the file system, where there may be one.


@gpu
@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0,
    reason="no private mounts here, so the PTX compiler cannot be hidden",
)
@pytest.mark.skipif(
    jax.__version_info__ < (0, 9), reason="before JAX 0.9 XLA asks for it before it dumps"
)
@pytest.mark.parametrize("full", [False, True])
def test_without_a_ptx_compiler_the_dump_is_used_and_it_is_said(full: bool, tmp_path: Path) -> None:
    import importlib.util
    import pickle

    found = importlib.util.find_spec("nvidia.cuda_nvcc")
    hidden = [Path("/usr/local/cuda"), *Path("/usr/local").glob("cuda-*")]
    hidden += [Path(folder) for folder in (found and found.submodule_search_locations) or ()]
    (tmp_path / "shipment").write_bytes(pickle.dumps(shipped("momentum", "gpu")))
    (tmp_path / "empty").mkdir()
    (tmp_path / "program.py").write_text(
        "import pickle, sys\n"
        "from donatree.targets.compiler import Compiler\n"
        "from donatree.targets.names import read_target\n"
        "shipment = pickle.loads(open('shipment', 'rb').read())\n"
        f"with Compiler(read_target('cuda:h100'), full={full}) as compiler:\n"
        "    dumped = compiler.compile(shipment)\n"
        "    print(dumped.module.read_text().partition(chr(10))[0].count('may-alias'))\n"
        "    print(dumped.complete, dumped.unfinished)\n"
    )
    mounts = [f"mount --bind empty {folder}" for folder in hidden if folder.is_dir()]
    for tool in ("ptxas", "nvlink"):
        where = shutil.which(tool)
        if where is not None:
            (tmp_path / "nothing").touch()
            mounts.append(f"mount --bind nothing {where}")
    script = "; ".join([*mounts, f"exec {sys.executable} program.py"])
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-ec", script],
        cwd=tmp_path,
        env=process_environment(TMPDIR=str(tmp_path)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    count, said = done.stdout.splitlines()
    assert count == "4"
    if full:
        assert said.startswith("False ")
        assert "`donatree[cuda]` brings" in said
    else:
        assert said == "False None"


# What stays behind.

_HELD = """
import pickle, sys, time
from donatree.targets.compiler import Compiler
from donatree.targets.names import read_target
compiler = Compiler(read_target(sys.argv[1]), full=True)
compiler.start()
worker = compiler._worker
print(worker.pid, worker._folder, flush=True)
if sys.argv[2] == "compiling":
    compiler.compile(pickle.loads(open("shipment", "rb").read()))
    print("compiled", flush=True)
time.sleep(600)
"""


def _running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _wait(condition: Any) -> bool:
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.05)
    return False


@both
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("doing", ["starting", "compiling"])
def test_nothing_stays_behind_when_the_parent_dies(
    platform: str, number: signal.Signals, doing: str, tmp_path: Path
) -> None:
    import pickle

    (tmp_path / "shipment").write_bytes(pickle.dumps(shipped("momentum", platform)))
    process = subprocess.Popen(
        [sys.executable, "-c", _HELD, NAMES[platform], doing],
        cwd=tmp_path,
        env=process_environment(TMPDIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    pid, folder = process.stdout.readline().split()
    assert Path(folder).is_dir()
    if doing == "compiling":
        assert _wait(lambda: any(Path(folder).glob("dump-1/*before_optimizations.txt")))
    assert _running(int(pid))
    process.send_signal(number)
    process.wait()
    assert _wait(lambda: not _running(int(pid)))
    assert _wait(lambda: not Path(folder).exists())
    process.stdout.close()


@both
def test_an_interrupted_compile_ends_its_process_and_its_files(
    platform: str, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from donatree.targets import worker

    def interrupted(self: Any, timeout: float) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(worker.Worker, "answer", interrupted)
    compiler = Compiler(read_target(NAMES[platform]))
    compiler.start()
    assert compiler._worker is not None
    pid = compiler._worker.pid
    assert _running(pid)
    with pytest.raises(KeyboardInterrupt):
        compiler.compile(shipped("swap", platform))
    assert not _running(pid)
    compiler.close()
    assert not list(folders.iterdir())


# When a dump is complete.


def _dump(folder: Path, platform: str, *without: str) -> None:
    prefix = {"tpu": "m.", "gpu": "m.sm_gpu_", "cpu": "m.cpu_"}[platform]
    for end in (
        "after_optimizations.txt",
        "after_optimizations-buffer-assignment.txt",
        "after_optimizations-memory-usage-report.txt",
        "after_optimizations-live-range.txt",
    ):
        if end not in without:
            (folder / f"{prefix}{end}").write_text("x")
    (folder / "m.before_optimizations.txt").write_text("x")
    (folder / "m.after_optimizations_after_buffer_assignment.txt").write_text("x")
    (folder / "m.debug_options").write_text("x")


@pytest.mark.parametrize("platform", ["tpu", "gpu"])
def test_files_of_the_cpu_are_not_taken_for_those_of_a_target(
    platform: str, tmp_path: Path
) -> None:
    _dump(tmp_path, "cpu")
    folder = DumpFolder(tmp_path, platform)
    assert folder.files() is None
    assert not folder.is_complete(None)
    _dump(tmp_path, platform)
    found = folder.files()
    assert found is not None
    assert not any("cpu" in file.name for file in found.values())


@pytest.mark.parametrize("platform", ["tpu", "gpu"])
def test_a_dump_is_complete_once_nothing_of_it_is_open_or_to_come(
    platform: str, tmp_path: Path
) -> None:
    path = tmp_path.resolve()
    folder = DumpFolder(path, platform)
    _dump(path, platform, "after_optimizations-buffer-assignment.txt")
    assert not folder.is_complete(os.getpid())
    _dump(path, platform)
    with next(path.glob("*buffer-assignment.txt")).open("a"):
        assert not folder.is_complete(os.getpid())
    assert folder.is_complete(os.getpid())


def test_a_dump_without_its_last_file_is_not_complete(tmp_path: Path) -> None:
    path = tmp_path.resolve()
    _dump(path, "tpu")
    next(path.glob("*after_buffer_assignment.txt")).unlink()
    assert not DumpFolder(path, "tpu").is_complete(os.getpid())
    _dump(path, "tpu", "after_optimizations-live-range.txt")
    next(path.glob("*live-range.txt")).unlink()
    folder = DumpFolder(path, "tpu")
    assert not folder.is_complete(os.getpid())  # they may yet come
    assert _wait(lambda: folder.is_complete(os.getpid()))  # not every version writes them
