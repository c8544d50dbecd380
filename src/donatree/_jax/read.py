"""What JAX and XLA made of a request: an `Observation` from a `MeshComputation` and its executable.

Read here, each measured on JAX 0.5.3 to 0.12:

* `MeshComputation._hlo` is the StableHLO module; `@main` carries one attribute dictionary a
  parameter, with ``tf.aliasing_output`` or ``jax.buffer_donor``. Reading it through MLIR makes no
  text (0.02 s for 50,000 parameters).
* `compile_args['kept_var_idx']` are the arguments that became parameters, counted with the hoisted
  constants in front; `all_args_info.in_avals` are all of them.
* parameters and results before the first of those are effect tokens.
* the executable's first module begins with the alias map.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from donatree._jax import facts, placement, specs
from donatree.errors import in_one_line
from donatree.hlo.header import Header, HeaderError, read_header
from donatree.ledger import ArraySpec, Leaf, Live, Slot
from donatree.observation import Observation, Request

PROMISES = ("tf.aliasing_output", "jax.buffer_donor")

Attributes = dict[int, int | Literal["donor"]]


@dataclass(slots=True)
class Lowering:
    """What is read of a computation before it is compiled."""

    attributes: Attributes
    parameters: int
    results: int
    warning: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def read_lowering(computation: Any) -> Lowering:
    """Attributes of `@main`'s parameters, and how many parameters and results it has."""
    main = main_of(computation.stablehlo())
    attributes: Attributes = {}
    arg_attrs = _get(main.attributes, "arg_attrs")
    for number, found in enumerate(arg_attrs if arg_attrs is not None else ()):
        if PROMISES[0] in found:
            attributes[number] = int(str(found[PROMISES[0]]).split(":")[0])
        elif PROMISES[1] in found:
            attributes[number] = "donor"
    kind = _get(main.attributes, "function_type").value
    return Lowering(attributes, len(kind.inputs), len(kind.results))


def main_of(module: Any) -> Any:
    """The operation `@main` of a StableHLO module.

    Raises:
        LookupError: the module has none.
    """
    for operation in module.body.operations:
        name = _get(operation.attributes, "sym_name")
        if name is not None and str(name).strip('"') == "main":
            return operation
    raise LookupError("the StableHLO module has no function `main`")


def _get(attributes: Any, name: str) -> Any:
    return attributes[name] if name in attributes else None  # noqa: SIM401, MLIR's has no get


def donates_anything(computation: Any) -> bool:
    """Whether any argument of the computation was recorded as donated."""
    return any(getattr(computation, "_donated_invars", None) or ())


def observe(
    computation: Any,
    executable: Any,
    error: BaseException | None,
    lowering: Lowering | None,
    request: Request,
    slots: Sequence[Slot],
    shapes_only: bool = False,
) -> Observation:
    """Join everything that is known of one compile, but XLA's totals: see `with_totals`.

    Args:
        computation: JAX's `MeshComputation`.
        executable: its `MeshExecutable`, None if the compile failed.
        error: why it failed.
        lowering: what was read of `@main`.
        request: what was asked.
        slots: the result's leaves as the trace named them.
        shapes_only: whether arguments without a sharding took part.
    """
    details = computation.compile_args
    kept = sorted(details["kept_var_idx"])
    constants = len(getattr(computation, "const_args", None) or ())
    parameters = lowering.parameters if lowering else len(kept)
    results = lowering.results if lowering else len(details["global_out_avals"])
    tokens = parameters - len(kept)
    parameter_of = _parameter_of(kept, constants, tokens)
    in_shardings = _shardings(executable, "_in_shardings", details["in_shardings"])
    out_shardings = _shardings(executable, "_out_shardings", details["out_shardings"])
    in_layouts = _layouts(executable, "_xla_in_layouts", details.get("in_layouts"))
    out_layouts = _layouts(executable, "_xla_out_layouts", details.get("out_layouts"))
    in_specs = specs.specs_of(details["global_in_avals"], in_shardings, in_layouts)
    leaf_specs = {index - constants: spec for index, spec in zip(kept, in_specs, strict=True)}
    leaves = tuple(
        Leaf(
            leaf.path,
            leaf.argument,
            leaf.flat_index,
            _joined(leaf_specs.get(leaf.flat_index), leaf.spec),
        )
        for leaf in request.leaves
    )
    out_specs = specs.specs_of(details["global_out_avals"], out_shardings, out_layouts)
    backend = details["backend"]
    platform = str(backend.platform)
    header, header_error = _header(executable)
    observation = Observation(
        request=dataclasses.replace(request, leaves=leaves),
        slots=_slots(slots, out_specs),
        parameter_of=parameter_of,
        attributes=lowering.attributes if lowering else None,
        output_offset=results - len(out_specs),
        header=header,
        header_error=header_error,
        reference_parameters=_references(details, tokens),
        hoisted=frozenset(range(tokens, tokens + constants)),
        platform=platform,
        platform_donates=_platform_donates(computation, platform),
        devices=int(details.get("num_devices") or 1),
        outputs_given=tuple(_is_given(each) for each in details["out_shardings"]),
        jax_warning=lowering.warning if lowering else None,
        compile_error=None if error is None else in_one_line(error),
        shapes_only=shapes_only and not all(_is_given(each) for each in details["in_shardings"]),
    )
    # What was compiled for other hardware knows more, and knows it better.
    finish = getattr(executable, "finish", None)
    return observation if finish is None else finish(observation)


def completed(observation: Observation, executable: Any) -> Observation:
    """What was read before a compile for other hardware, with what came of it.

    Args:
        observation: of the lowering.
        executable: what stands for the executable, as `observe` takes it.
    """
    header, error = _header(executable)
    observation = dataclasses.replace(observation, header=header, header_error=error)
    return with_totals(executable.finish(observation), executable.xla_executable)


def _parameter_of(kept: Sequence[int], constants: int, tokens: int) -> dict[int, int]:
    return {
        index - constants: tokens + place for place, index in enumerate(kept) if index >= constants
    }


def parameters_of(computation: Any) -> dict[int, int]:
    """The module parameter of each kept leaf, by flat index."""
    kept = sorted(computation.compile_args["kept_var_idx"])
    constants = len(getattr(computation, "const_args", None) or ())
    kind = _get(main_of(computation.stablehlo()).attributes, "function_type").value
    return _parameter_of(kept, constants, len(kind.inputs) - len(kept))


def _slots(named: Sequence[Slot], found: Sequence[ArraySpec]) -> tuple[Slot, ...]:
    """Names from the trace, specs from the compile; references come back after the results."""
    answer = []
    for index, spec in enumerate(found):
        known = index < len(named)
        path = named[index].path if known else f"reference[{index - len(named)}]"
        answer.append(Slot(path, index, spec))
    return tuple(answer)


def _joined(compiled: ArraySpec | None, traced: ArraySpec) -> ArraySpec:
    """The compiled spec with the trace's weak type, which lowering does not keep."""
    if compiled is None or compiled.shape != traced.shape:
        return traced
    if compiled.weak_type == traced.weak_type and compiled.dtype == traced.dtype:
        return compiled
    return dataclasses.replace(compiled, weak_type=traced.weak_type, dtype=traced.dtype)


def _shardings(executable: Any, name: str, fallback: Sequence[Any]) -> Sequence[Any]:
    found = getattr(executable, name, None)
    return found if found is not None else fallback


def _layouts(executable: Any, name: str, fallback: Sequence[Any] | None) -> Sequence[Any] | None:
    """Layouts as JAX gives them; None where it gives none."""
    found = getattr(executable, name, None)
    return (found if found is not None else fallback) or None


def _references(details: Mapping[str, Any], tokens: int) -> frozenset[int]:
    """Parameters that are mutable references (`in_mut` of JAX's `MutationData`)."""
    mutation = details.get("mut")
    if mutation is None:
        return frozenset()
    numbers = [each for each in mutation.out_mut if each is not None]
    return frozenset(tokens + number for number in numbers)


def _platform_donates(computation: Any, platform: str) -> bool:
    named = tuple(getattr(computation, "_platforms", ()) or (platform,))
    allowed = facts.platforms_with_donation()
    return any(each in allowed for each in named)


def _is_given(sharding: Any) -> bool:
    return hasattr(sharding, "device_set")


def _header(executable: Any) -> tuple[Header | None, str | None]:
    if executable is None:
        return None, None
    try:
        module = executable.xla_executable.hlo_modules()[0]
        return read_header(_module_text(module)), None
    except HeaderError as error:
        return None, str(error)
    except Exception as error:
        return None, f"the compiled module has no text: {in_one_line(error)}"


def _module_text(module: Any) -> str:
    """The module's text with as little beside the header as the printer allows.

    That takes a third of the time of the whole text (measured on jaxlib 0.5 to 0.12, between
    which the class of the options has moved twice).
    """
    for room in ("jaxlib._hlo", "jaxlib._jax", "jaxlib.xla_extension"):
        try:
            options = __import__(room, fromlist=["HloPrintOptions"]).HloPrintOptions
            brief = options.short_parsable()
            for name in _LEFT_OUT:
                setattr(brief, name, False)
            return str(module.to_string(brief))
        except (ImportError, AttributeError, TypeError):
            continue
    return str(module.to_string())


_LEFT_OUT = (
    "print_backend_config",
    "print_extra_attributes",
    "print_operand_names",
    "print_result_shape",
)


def with_totals(observation: Observation, loaded: Any, places: bool = True) -> Observation:
    """Adds XLA's totals, bytes per device.

    Since jaxlib 0.10 the call simulates the heap of the whole program (measured: 0.12 s of CPU
    time for a training step of 12 layers that compiles in 5 s).

    Args:
        observation: of the same compile.
        loaded: jaxlib's loaded executable.
        places: whether to read where XLA put the leaves as well.
    """
    try:
        statistics = loaded.get_compiled_memory_stats()
    except Exception:
        return observation  # not every backend keeps them; the totals stay None
    observation = dataclasses.replace(observation, live=_live(statistics))
    if not places:
        return observation
    found = placement.read(observation, loaded, statistics)
    if isinstance(found, str):
        return dataclasses.replace(observation, placement_error=found)
    return dataclasses.replace(observation, placement=found)


def _live(statistics: Any) -> Live | None:
    names = ("argument", "output", "alias", "temp")
    found = [getattr(statistics, f"{name}_size_in_bytes", None) for name in names]
    known = [int(each) for each in found if each is not None]
    return Live(*known) if len(known) == len(names) else None
