"""What a rehearsed call site comes to: findings, and the keyword to add."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from donatree import paths
from donatree._jax.frames import is_user_file
from donatree._jax.promise import one_or_tuple
from donatree.before.choice import Chosen
from donatree.before.site import Site
from donatree.findings.rule import count
from donatree.holders.holder import Holder
from donatree.holders.twins import Twins
from donatree.ledger import Finding, Label, Rehearsal

_MOST_HOLDERS = 8


Codes = dict[tuple[str, str, str], set[str]]


def add_codes(codes: Codes, site: Site, found: Sequence[Finding]) -> None:
    """Adds the codes of the findings about each argument of a site.

    Args:
        codes: by function, where it is defined, and argument: the keyword holds at every call.
        site: the call site.
        found: findings.
    """
    for each in site.chosen:
        about = {one.code for one in found if _paths(each) & set(one.leaves)}
        codes.setdefault(_key(site, each), set()).update(about)


def _key(site: Site, chosen: Chosen) -> tuple[str, str, str]:
    return site.request.function, str(site.request.location), chosen.argument


def rehearsals(site: Site, codes: Codes) -> Iterator[Rehearsal]:
    """One for each argument that was rehearsed.

    Args:
        site: the call site.
        codes: of the findings about each argument, at any call of the function.
    """
    broken = {each.argument: tuple(sorted(codes[_key(site, each)])) for each in site.chosen}
    clean = [each for each in site.chosen if not broken[each.argument]]
    for each in site.chosen:
        held = [leaf for leaf in each.leaves if leaf.path in site.held]
        yield Rehearsal(
            function=site.request.function,
            argument=each.argument,
            why=each.why,
            leaves=len(each.leaves),
            bytes=sum(leaf.bytes for leaf in each.leaves),
            taken_bytes=sum(leaf.bytes for leaf in each.leaves if leaf.flat_index in site.taken),
            calls=site.checked,
            confirmed_calls=site.confirmed,
            held_leaves=len(held),
            codes=broken[each.argument],
            keyword=keyword(site, clean if each in clean else [each]),
            location=site.request.location,
            call=site.call,
        )


def keyword(site: Site, chosen: Sequence[Chosen]) -> str:
    """What to add to the jit so that it donates these arguments besides what it donates now."""
    names = {each.argument for each in chosen}
    if site.dialect == "equinox":
        return _of_equinox(site, names)
    numbers = {each.number for each in chosen if each.number is not None} | set(site.declared)
    words = sorted(each.argument for each in chosen if each.number is None)
    parts = [f"donate_argnums={one_or_tuple(sorted(numbers))}"] if numbers else []
    if words:
        parts.append(f"donate_argnames={one_or_tuple(words)}")
    return ", ".join(parts)


def _of_equinox(site: Site, names: set[str]) -> str:
    """`filter_jit` donates all arguments, or all but the first."""
    order = list(dict.fromkeys(leaf.argument for leaf in site.request.leaves))
    first = site.request.positional[:1]
    rest = [name for name in order if name not in first]
    if set(order) <= names:
        return 'donate="all"'
    if rest and set(rest) == names:
        return 'donate="all-except-first"'
    return 'donate="all-except-first", with all that stays in one first argument'


def findings(site: Site) -> list[Finding]:
    """What else holds, or shares, what the site would donate; most bytes first."""
    found = [
        item for item in site.found.items() if item[0] in site.stayed or _counts(site, item[1])
    ]
    found.sort(key=lambda item: (-item[1].bytes, str(item[1])))
    answer = [_held(site, holder, key in site.stayed) for key, holder in found[:_MOST_HOLDERS]]
    return [*(_twins(site, each) for each in site.twins.values()), *answer]


def _counts(site: Site, holder: Holder) -> bool:
    """Whether a holder that was met while the call ran counts without having been met again."""
    if holder.location is not None and not is_user_file(holder.location.file):
        return False  # what a library keeps while it runs the call
    in_place = {path for each in site.chosen if each.in_place for path in _paths(each)}
    # The call gives the object itself, and whoever has it, new arrays.
    return holder.kind != "container" or not in_place.issuperset(holder.leaves)


def _held(site: Site, holder: Holder, stayed: bool) -> Finding:
    function = site.request.function
    thread = f" in thread `{holder.thread}`" if holder.thread else ""
    chain = " -> ".join((f"{holder.root}{thread}", *holder.steps))
    verb = "holds"
    several = len(holder.leaves) > 1
    rest = f"and would be left with {'deleted arrays' if several else 'a deleted array'}"
    note = f"it still held {'them' if several else 'it'} when `{function}` was called again"
    help_ = f"let it go before the call, or {_copy(site, holder)}"
    if holder.kind == "view":
        verb, rest = "looks at the memory of", "so the run would copy it instead of reusing it"
        help_ = "keep a copy, `np.array(x)` for `np.asarray(x)` or `jax.device_get(x)`"
    labels = [Label(holder.location, "held from here")] if holder.location else []
    if site.call is not None:
        labels.append(Label(site.call, f"would be donated here, to `{function}`", primary=True))
    if holder.read_at is not None:
        labels.append(Label(holder.read_at, "may be read again here"))
    notes = [f"by {_article(holder.what)}"] if holder.what else []
    return Finding(
        code="DT701",
        headline=f"{chain} {verb} `{holder.held}`, {rest}",
        leaves=holder.leaves,
        bytes=holder.bytes,
        level="error" if holder.kind != "view" else "warning",
        location=site.call or holder.location,
        folded=paths.fold(holder.leaves) if several else None,
        notes=(*notes, *([note] if stayed else [])),
        help=help_,
        labels=tuple(labels),
    )


def with_help(site: Site, used: Finding) -> Finding:
    """A use of what would be gone, with what a copy before the call costs."""
    kept = next((each for each in site.chosen if set(used.leaves) <= _paths(each)), None)
    if kept is None:
        return used
    if len(used.leaves) == 1 and len(kept.leaves) > 1:
        copy = f"jnp.copy({_as_passed(site, used.leaves[0])})"
        cost = used.bytes
    elif len(kept.leaves) == 1 and kept.leaves[0].path == kept.argument:
        copy, cost = f"jnp.copy({kept.written})", used.bytes
    else:
        copy = f"jax.tree.map(jnp.copy, {kept.written})"
        cost = sum(leaf.bytes for leaf in kept.leaves)
    more = f"keep a copy before the call, `{copy}`, which costs {count(cost, 'byte')} per device"
    return dataclasses.replace(used, help=f"{used.help}, or {more}")


def _paths(chosen: Chosen) -> set[str]:
    return {leaf.path for leaf in chosen.leaves}


def _as_passed(site: Site, path: str) -> str:
    """A path as the caller would write it: with what it passes for the argument."""
    name, *rest = paths.split(path)
    written = next((each.written for each in site.chosen if each.argument == name), name)
    return "".join((written, *rest))


def _article(what: str) -> str:
    return what if what.startswith(("a", "an ")) and " " in what else f"a {what}"


def _copy(site: Site, holder: Holder) -> str:
    held = _as_passed(site, holder.held)
    made = f"jnp.copy({held})"
    if holder.kind == "container" or len(holder.leaves) > 1:
        made = f"jax.tree.map(jnp.copy, {held})"
    return f"keep a copy there, `{made}`, which costs {count(holder.bytes, 'byte')} per device"


def _twins(site: Site, twins: Twins) -> Finding:
    written = [f"`{path}`" for path in twins.paths]
    both = all(twins.donated)
    function = site.request.function
    if both:
        text = (
            f"{' and '.join(written)} are one buffer: `{function}` would refuse to donate it twice"
        )
    else:
        given = [w for w, donated in zip(written, twins.donated, strict=True) if donated]
        kept = [w for w, donated in zip(written, twins.donated, strict=True) if not donated]
        text = (
            f"{' and '.join(given)} would be donated to `{function}`, which also gets it "
            f"undonated as {' and '.join(kept)}"
        )
    said = f"both are passed here, to `{function}`"
    return Finding(
        code="DT702" if both else "DT703",
        headline=text,
        leaves=twins.paths,
        bytes=twins.bytes,
        location=site.call,
        help=f"copy one of them first, `jnp.copy(x)`, which costs {count(twins.bytes, 'byte')} "
        "per device",
        labels=(Label(site.call, said, primary=True),) if site.call is not None else (),
    )
