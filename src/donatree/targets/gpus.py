"""The NVIDIA GPUs that are described here, as data."""

from __future__ import annotations

from dataclasses import dataclass

_OPENXLA = "OpenXLA's own description of this GPU"
_SHEET = "its data sheet, and what one run of XLA printed on it"


@dataclass(frozen=True, slots=True)
class Gpu:
    """What XLA's GPU compiler asks of a GPU.

    Attributes:
        name: as a user writes it.
        description: the maker's name.
        capability: CUDA compute capability, major and minor.
        cores: streaming multiprocessors.
        lanes: float32 operations of a multiprocessor per clock.
        threads: threads that a multiprocessor holds.
        shared: bytes of shared memory of a multiprocessor.
        shared_optin: of it, bytes that one block may ask for.
        memory: bytes of device memory.
        bandwidth: bytes per second between a multiprocessor and device memory.
        l2: bytes of the second-level cache.
        clock: GHz.
        source: where the numbers are from.
    """

    name: str
    description: str
    capability: tuple[int, int]
    cores: int
    lanes: int
    threads: int
    shared: int
    shared_optin: int
    memory: int
    bandwidth: int
    l2: int
    clock: float
    source: str

    @property
    def memory_source(self) -> str:
        """Where the bytes of memory are from, in words."""
        return f"{self.source}; XLA's GPU compiler refuses nothing for its size"

    def text(self) -> str:
        """The description as XLA reads it: a ``GpuTargetConfigProto`` in text.

        Only fields that every JAX from 0.7.2 to 0.12 knows: an unknown one is an error.
        """
        fields = {
            "threads_per_block_limit": 1024,
            "threads_per_warp": 32,
            "shared_memory_per_block": 49152,
            "shared_memory_per_core": self.shared,
            "threads_per_core_limit": self.threads,
            "core_count": self.cores,
            "fpus_per_core": self.lanes,
            "block_dim_limit_x": 2147483647,
            "block_dim_limit_y": 65535,
            "block_dim_limit_z": 65535,
            "memory_bandwidth": self.bandwidth,
            "l2_cache_size": self.l2,
            "clock_rate_ghz": self.clock,
            "device_memory_size": self.memory,
            "shared_memory_per_block_optin": self.shared_optin,
            "registers_per_core_limit": 65536,
            "registers_per_block_limit": 65536,
        }
        major, minor = self.capability
        lines = [f"  {name}: {value}" for name, value in fields.items()]
        lines.append(f"  cuda_compute_capability {{ major: {major} minor: {minor} }}")
        inside = "\n".join(lines)
        return (
            f"gpu_device_info {{\n{inside}\n}}\n"
            f'platform_name: "CUDA"\ndevice_description_str: "{self.description}"\n'
        )


_KNOWN = (
    Gpu(
        name="a100",
        description="NVIDIA A100-SXM4-80GB",
        capability=(8, 0),
        cores=108,
        lanes=64,
        threads=2048,
        shared=167_936,
        shared_optin=166_912,
        memory=85_100_068_864,
        bandwidth=2_039_040_000_000,
        l2=41_943_040,
        clock=1.41,
        source=_OPENXLA,
    ),
    Gpu(
        name="h100",
        description="NVIDIA H100 80GB HBM3",
        capability=(9, 0),
        cores=132,
        lanes=128,
        threads=2048,
        shared=233_472,
        shared_optin=232_448,
        memory=84_942_979_072,
        bandwidth=3_352_320_000_000,
        l2=52_428_800,
        clock=1.98,
        source=_OPENXLA,
    ),
    Gpu(
        name="h200",
        description="NVIDIA H200 141GB HBM3e",
        capability=(9, 0),
        cores=132,
        lanes=128,
        threads=2048,
        shared=233_472,
        shared_optin=232_448,
        memory=151_397_597_184,
        bandwidth=4_800_000_000_000,
        l2=52_428_800,
        clock=1.98,
        source=_OPENXLA,
    ),
    Gpu(
        name="b200",
        description="NVIDIA B200",
        capability=(10, 0),
        cores=148,
        lanes=128,
        threads=2048,
        shared=233_472,
        shared_optin=232_448,
        memory=191_514_411_008,
        bandwidth=7_672_320_000_000,
        l2=132_644_864,
        clock=1.965,
        source=_OPENXLA,
    ),
    Gpu(
        name="l4",
        description="NVIDIA L4",
        capability=(8, 9),
        cores=58,
        lanes=128,
        threads=1536,
        shared=102_400,
        shared_optin=101_376,
        memory=23_659_151_360,
        bandwidth=300_096_000_000,
        l2=50_331_648,
        clock=2.04,
        source=_SHEET,
    ),
    Gpu(
        name="rtx4090",
        description="NVIDIA GeForce RTX 4090",
        capability=(8, 9),
        cores=128,
        lanes=128,
        threads=1536,
        shared=102_400,
        shared_optin=101_376,
        memory=25_250_627_584,
        bandwidth=1_008_096_000_000,
        l2=75_497_472,
        clock=2.52,
        source=_SHEET,
    ),
)

GPUS: dict[str, Gpu] = {gpu.name: gpu for gpu in _KNOWN}
"""By name."""
