"""What a user may write after `--target`, and what is answered to anything else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donatree.errors import TargetError
from donatree.targets import packages, tpus
from donatree.targets.description import NEEDED, read_description
from donatree.targets.environment import compile_environment, stand_in_environment
from donatree.targets.faults import crashed, explained, refused
from donatree.targets.gpus import GPUS
from donatree.targets.names import read_target
from donatree.targets.tpus import TPUS
from programs import donatree, python

H100 = GPUS["h100"].text()


@pytest.mark.parametrize(
    ("name", "platform", "topology", "devices"),
    [
        ("tpu:v5e:2x2", "tpu", "2x2", 4),
        ("tpu:v5p:8x8x8", "tpu", "8x8x8", 512),
        ("tpu:v4:2x2x1", "tpu", "2x2x1", 4),
        ("tpu:v4:2x2", "tpu", "2x2", 4),
        ("tpu:v6e:2x4", "tpu", "2x4", 8),
        ("tpu:tpu7x:2x2x1", "tpu", "2x2x1", 8),
        ("tpu:v3:2x2", "tpu", "2x2", 8),
        ("TPU:V5E:1x1", "tpu", "1x1", 1),
        (" cuda:h100 ", "gpu", "1x1x1", 1),
        ("cuda:h100:1x1x8", "gpu", "1x1x8", 8),
        ("cuda:h100:8", "gpu", "1x1x8", 8),
        ("cuda:H100:2x1x8", "gpu", "2x1x8", 16),
        ("host", "cpu", "1", 1),
        ("host:8", "cpu", "8", 8),
    ],
)
def test_a_name_stands_for_devices(name: str, platform: str, topology: str, devices: int) -> None:
    wanted = read_target(name)
    assert (wanted.platform, wanted.topology, wanted.devices) == (platform, topology, devices)
    assert wanted.name == name.strip()


def test_every_example_of_the_catalogue_is_a_name() -> None:
    for tpu in TPUS.values():
        for shape in tpu.shapes:
            wanted = read_target(f"tpu:{tpu.generation}:{shape}")
            assert wanted.memory == tpu.memory
        assert all(read_target(example) for example in tpu.examples)
    for name, gpu in GPUS.items():
        wanted = read_target(f"cuda:{name}")
        assert wanted.memory == gpu.memory
        assert wanted.description == gpu.text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tpu:v5e", "`tpu:v5e` has no shape, the chips per dimension; write `tpu:v5e:2x2` or"),
        ("tpu:v5e-8", "no TPU is called `v5e-8`; write `tpu:v5e:2x2`"),
        ("tpu:v5litepod-8", "write `tpu:v5e:2x2`"),
        ("tpu:ironwood:2x2x1", "write `tpu:tpu7x:2x2x1`"),
        ("tpu:v5p:2x2", "the shape of `tpu:v5p:2x2` has 2 numbers, and that of v5p has 3"),
        ("tpu:v5e:0x2", "has a 0"),
        ("tpu:v5e:2x2x", "`2x2x` is not a shape"),
        ("tpu:v5e:999x999", "has 998,001 devices, and 32,768 is most"),
        ("tpu:tpu8i:2x2x1", "no TPU is called `tpu8i`"),
        ("tpu", "`tpu` names no TPU"),
        ("v5e:2x2", "write `tpu:v5e:2x2`"),
        ("h100", "write `cuda:h100`"),
        ("gpu:h100:1x1x8", "write `cuda:h100:1x1x8`"),
        ("cpu:8", "write `host:8`"),
        ("cuda:h10", "near it is `cuda:h100`"),
        ("cuda:h100:2x8", "is not slices x hosts x GPUs of a host; write `cuda:h100` or"),
        ("cuda:./nowhere.txtpb", "cannot read `./nowhere.txtpb`: there is no such file"),
        ("cuda:.", "cannot read `.`: there is no such file"),
        ("cuda", "names no GPU; there are a100"),
        ("host:none", "`host:none` has no number of devices; write `host` or `host:8`"),
        ("tpux", "near it is `tpu7x`"),
        ("", "write for example `tpu:v5e:2x2`"),
    ],
)
def test_a_bad_name_is_answered_in_one_line_with_what_to_write(name: str, said: str) -> None:
    with pytest.raises(TargetError) as caught:
        read_target(name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


_PARTS = ("tpu", "cuda", "host", "v5e", "v4", "h100", "2x2", "1x1x8", "8", "x", ":", "-", "/", "\0")


@given(st.text() | st.lists(st.sampled_from(_PARTS) | st.text(max_size=3)).map("".join))
def test_any_text_is_a_target_or_an_error_of_one_line(text: str) -> None:
    said, devices = "", 0
    try:
        devices = read_target(text).devices
    except TargetError as error:
        said = str(error)
    assert bool(said) != bool(devices)
    assert devices <= 32_768
    assert len(said.splitlines()) <= 1
    assert len(said) < 600


# Descriptions of GPUs.


def _without(text: str, field: str) -> str:
    return re.sub(rf"^  {field}\b.*\n", "", text, flags=re.M)


@pytest.mark.parametrize("field", NEEDED)
def test_a_description_without_a_needed_field_is_refused_by_its_name(
    field: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.txtpb"
    file.write_text(_without(H100, field))
    with pytest.raises(TargetError, match=rf"has no `{field}`: {NEEDED[field]}"):
        read_target(f"cuda:{file}")


def test_all_missing_fields_are_named_at_once() -> None:
    with pytest.raises(TargetError) as caught:
        read_description("gpu_device_info {\n}", "mine")
    assert all(f"`{field}`" in str(caught.value) for field in NEEDED)
    assert "crashes, or answers wrongly and says nothing" in str(caught.value)


def test_a_field_that_is_zero_or_in_a_comment_or_a_string_is_missing() -> None:
    for text in (
        H100.replace("core_count: 132", "core_count: 0"),
        H100.replace("core_count: 132", "# core_count: 132"),
        _without(H100, "core_count") + '# x\ndevice_description_str: "core_count: 132"\n',
    ):
        assert text != H100
        with pytest.raises(TargetError, match="has no `core_count`"):
            read_description(text, "mine")
    with pytest.raises(TargetError, match="cuda_compute_capability"):
        read_description(H100.replace("{ major: 9 minor: 0 }", "{ }"), "mine")


def test_what_is_no_description_is_said_to_be_none(tmp_path: Path) -> None:
    for data, said in (
        (b"", "is no description of a GPU"),
        (b"key: value\n", "is no description of a GPU"),
        (b"\xff\xfe\x00\x80", "it is not text"),
        (b"x" * 1_000_001, "it is too large"),
    ):
        file = tmp_path / "mine.txtpb"
        file.write_bytes(data)
        with pytest.raises(TargetError, match=said):
            read_target(f"cuda:{file}")


def test_a_description_of_ones_own_has_its_own_memory_and_shape(tmp_path: Path) -> None:
    file = tmp_path / "mine.txtpb"
    file.write_text(H100.replace("84942979072", "1000000000").replace("H100 80GB HBM3", "Mine"))
    wanted = read_target(f"cuda:{file}:1x1x4")
    assert (wanted.memory, wanted.devices, wanted.kind) == (1_000_000_000, 4, "NVIDIA Mine")
    assert wanted.memory_source == f"`device_memory_size` of {file}"
    file.write_text(_without(H100, "device_memory_size"))
    assert read_target(f"cuda:{file}").memory is None


def test_what_xla_itself_writes_of_a_gpu_is_a_description() -> None:
    text = H100.replace("{ major: 9 minor: 0 }", "{\n    major: 9\n    feature_extension: X\n  }")
    assert read_description(text + "runtime_version {\n}\n", "dumped").memory == 84942979072


# Environments.


def test_flags_of_the_user_do_not_reach_the_compilers() -> None:
    base = {"XLA_FLAGS": "--xla_cpu_use_thunk_runtime=true", "LIBTPU_INIT_ARGS": "--x", "HOME": "/"}
    for name in ("tpu:v5e:2x2", "cuda:h100"):
        made = compile_environment(read_target(name), base)
        assert "XLA_FLAGS" not in made
        assert made["LIBTPU_INIT_ARGS"] == "--x"
        assert made["JAX_PLATFORMS"] == "cpu"
    assert base["XLA_FLAGS"]


def test_what_the_user_set_for_tpus_stands_but_for_the_lock() -> None:
    base = {"TPU_LOG_DIR": "/logs", "ALLOW_MULTIPLE_LIBTPU_LOAD": "0", "JAX_PLATFORMS": "tpu"}
    made = compile_environment(read_target("tpu:v5e:2x2"), base)
    assert made["TPU_LOG_DIR"] == "/logs"
    assert made["ALLOW_MULTIPLE_LIBTPU_LOAD"] == "1"
    assert "TPU_LOG_DIR" not in compile_environment(read_target("cuda:h100"), {})


def test_a_stand_in_has_the_devices_of_the_target_and_the_other_flags() -> None:
    base = {
        "XLA_FLAGS": "--a=1 --xla_force_host_platform_device_count=3 --b",
        "JAX_NUM_CPU_DEVICES": "5",
        "JAX_PLATFORMS": "cuda",
    }
    made = stand_in_environment(read_target("tpu:v5p:2x2x2"), base)
    assert made["XLA_FLAGS"] == "--a=1 --b --xla_force_host_platform_device_count=8"
    assert made["JAX_PLATFORMS"] == "cpu"
    assert made["JAX_NUM_CPU_DEVICES"] == "8"


def test_a_folder_of_the_users_path_is_the_same_from_the_childs_folder() -> None:
    made = compile_environment(read_target("cuda:h100"), {"PYTHONPATH": "src:/opt/x"})
    first, second = made["PYTHONPATH"].split(":")
    assert Path(first).is_absolute()
    assert second == "/opt/x"


# Packages.


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Versions by package, to be filled in; nothing else is installed."""
    versions: dict[str, str] = {}
    monkeypatch.setattr(packages, "version", versions.get)
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(packages.sys, "platform", "linux")
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    return versions


def test_a_missing_package_is_answered_with_what_to_install(installed: dict[str, str]) -> None:
    assert packages.why_not("tpu") == "JAX is not installed"
    installed["jax"] = "0.12.0.1"
    assert packages.why_not("cpu") is None
    assert "`pip install 'donatree[tpu]'`" in str(packages.why_not("tpu"))
    assert "`pip install 'donatree[cuda]'`" in str(packages.why_not("gpu"))
    installed |= {"libtpu": "0.0.50.1", "jax-cuda13-plugin": "0.12.0.1"}
    assert packages.why_not("tpu") is None
    assert packages.why_not("gpu") is None


def test_versions_that_do_not_work_are_said_in_words(installed: dict[str, str]) -> None:
    installed |= {"jax": "0.5.3", "libtpu": "0.0.23", "jax-cuda12-plugin": "0.5.3"}
    assert packages.why_not("tpu") == "it takes JAX 0.6.2 or newer, and 0.5.3 is installed"
    assert packages.why_not("gpu") == "it takes JAX 0.7.2 or newer, and 0.5.3 is installed"
    installed["jax"] = "0.8.3"
    assert "jax-cuda12-plugin 0.5.3 does not fit JAX 0.8.3" in str(packages.why_not("gpu"))
    installed["jax-cuda12-plugin"] = "0.8.3"
    assert packages.why_not("gpu") is None
    assert any("without autotuning" in note for note in packages.notes("gpu"))
    assert packages.overrides("gpu", full=True) == [["xla_gpu_autotune_level", 0]]
    installed |= {"jax": "0.9.2"}
    assert packages.overrides("gpu", full=True) == []
    assert packages.overrides("tpu", full=False) == []
    assert packages.overrides("gpu", full=False) == [["xla_gpu_autotune_level", 0]]


def test_totals_that_an_old_libtpu_fills_with_rubbish_are_left_out(
    installed: dict[str, str],
) -> None:
    found = {"temp_size_in_bytes": 4, "total_allocation_bytes": 140393648933776}
    installed["libtpu"] = "0.0.23"
    assert packages.trusted("tpu", found) == {"temp_size_in_bytes": 4}
    installed["libtpu"] = "0.0.50.1"
    assert packages.trusted("tpu", found) == found
    assert packages.trusted("gpu", found) == found
    assert packages.trusted("tpu", None) is None


def test_the_compilers_are_made_for_linux_only(
    installed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed["jax"] = "0.12.0.1"
    monkeypatch.setattr(packages.sys, "platform", "darwin")
    assert packages.why_not("tpu") == "XLA's TPU compiler is made for Linux only"


# Faults.


def test_a_crash_is_named_by_its_signal_with_what_is_known_of_it() -> None:
    assert "SIGFPE, known for a description without `threads_per_warp`" in str(
        crashed("gpu", -8, ())
    )
    assert str(crashed("tpu", -9, ())) == (
        "XLA's compiler was killed by SIGKILL, as by a system that is out of memory"
    )
    assert str(crashed("tpu", 3, ("x",))) == "XLA's compiler ended with exit code 3 and no answer"


def test_only_a_refusal_for_memory_is_one() -> None:
    text = "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out\nof memory"
    assert refused(f"x: {text}") == "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out"
    assert refused("RESOURCE_EXHAUSTED: Shared memory size limit exceeded") is None
    assert refused("INTERNAL: no") is None
    assert explained("cuda:h100", "UNAVAILABLE: No PTX compilation provider is\nx").startswith(
        "there is no PTX compiler; `donatree[cuda]` brings one: UNAVAILABLE"
    )


# The command.


def test_the_command_lists_every_kind_with_its_memory(tmp_path: Path) -> None:
    ended = donatree("targets", cwd=tmp_path)
    assert ended.code == 0, ended.err
    for tpu in TPUS.values():
        assert tpu.examples[0] in ended.out
    for name in GPUS:
        assert f"cuda:{name}" in ended.out
    assert "host:8" in ended.out
    assert "15.75 GiB" in ended.out
    assert ended.out.count("can be used here") + ended.out.count("cannot be used here") == 3


def test_the_command_tells_machines_the_same(tmp_path: Path) -> None:
    ended = donatree("targets", "--json", cwd=tmp_path)
    families = json.loads(ended.out)["families"]
    assert [family["platform"] for family in families] == ["tpu", "gpu", "cpu"]
    assert all(family["usable"] == (family["why_not"] is None) for family in families)
    memory = {row["target"]: row["memory_bytes"] for row in families[1]["targets"]}
    assert memory["cuda:h100"] == 84942979072


def test_a_description_that_is_printed_can_be_read_back(tmp_path: Path) -> None:
    ended = donatree("targets", "--describe", "l4", cwd=tmp_path)
    (tmp_path / "mine.txtpb").write_text(ended.out)
    assert read_target(f"cuda:{tmp_path / 'mine.txtpb'}").memory == GPUS["l4"].memory
    ended = donatree("targets", "--describe", "l5", cwd=tmp_path)
    assert (ended.code, "no GPU is called `l5`" in ended.err) == (2, True)


def test_listing_targets_imports_no_jax(tmp_path: Path) -> None:
    code = (
        "import sys; from donatree.targets import listing, compiler; listing.families();"
        "sys.exit('jax' in sys.modules)"
    )
    assert python("-c", code, cwd=tmp_path).code == 0


def test_one_chip_is_told_its_host_bounds() -> None:
    assert tpus.keywords("v5e", (1, 2)) == {"chips_per_host_bounds": (1, 2, 1)}
    assert tpus.keywords("v5p", (1, 1, 1)) == {"chips_per_host_bounds": (1, 1, 1)}
    assert tpus.keywords("v5p", (2, 2, 1)) == {}
    assert tpus.keywords("v4", (2, 2, 1)) == {"chip_config_name": "megacore"}
