"""What is asked of a compiler and of a program before anything is compiled."""

from __future__ import annotations

from typing import Any

from donatree._jax.abroad import CALLS_BACK
from donatree.shipment import Shipment
from donatree.targets import packages, tpus
from donatree.targets.faults import NotCompiled, NotInstalled, explained
from donatree.targets.wanted import Wanted

_RUN_WHILE_COMPILED = {
    b"CustomSPMDPartitioning": "`custom_partitioning`",
    b"InspectSharding": "`jax.debug.inspect_array_sharding`",
}


def first_order(wanted: Wanted) -> dict[str, Any]:
    """What a new process is told: the topology whose devices it is to build."""
    topology, keywords = wanted.topology, {}
    if wanted.platform == "tpu":
        topology = f"{wanted.model}:{wanted.topology}"
        keywords = tpus.keywords(wanted.model, wanted.shape)
    return {
        "platform": wanted.platform,
        "topology": topology,
        "keywords": keywords,
        "description": wanted.description,
    }


def checked(wanted: Wanted, answer: dict[str, Any], log: tuple[str, ...]) -> dict[str, Any]:
    """The answer of a process that is ready, held against what was wanted.

    Raises:
        NotCompiled: it has other devices, or none; one line.
    """
    if answer.get("error") == "NoLibrary":
        raise NotInstalled(packages.install(wanted.platform), log)
    if "error" in answer:
        text = f"{answer['error']}: {answer['text']}"
        raise NotCompiled(explained(wanted.name, text, log), log)
    if answer["platform"] != [wanted.platform]:
        raise NotCompiled(
            f"JAX has devices of {', '.join(answer['platform'])} for `{wanted.name}`", log
        )
    if answer["devices"] != wanted.devices:
        raise NotCompiled(
            f"`{wanted.name}` has {answer['devices']} devices here, and not {wanted.devices}", log
        )
    return answer


def check(wanted: Wanted, shipment: Shipment) -> None:
    """Refuses what the compilers get wrong without a word.

    Raises:
        NotCompiled: in one line.
    """
    if not shipment.devices or max(shipment.devices) >= wanted.devices:
        needed = max(len(shipment.devices), *(place + 1 for place in shipment.devices), 1)
        raise NotCompiled(f"it needs {needed} devices, and `{wanted.name}` has {wanted.devices}")
    for call, named in _RUN_WHILE_COMPILED.items():
        if call in shipment.module:
            raise NotCompiled(f"{named} runs Python of its process while XLA compiles it")
    if wanted.platform != "gpu":
        return
    if shipment.callbacks:
        raise NotCompiled(CALLS_BACK)
    if shipment.memory_kinds:
        kinds = ", ".join(f"`{kind}`" for kind in shipment.memory_kinds)
        raise NotCompiled(
            f"it has arrays in {kinds}, and JAX gives a GPU that is not there its own memory only"
        )
