"""The templates, and the one place through which a program's text gets into HTML.

Everything that an expression of a template puts out passes ``_safe``: control codes, lone
surrogates and what turns the direction of writing become visible escapes, as in the terminal.
jinja2 then escapes it for HTML. What is HTML already is ``Markup``, made by this package alone.
"""

from __future__ import annotations

import importlib.resources
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from donatree.reports import sizes
from donatree.reports.html.spans import prose
from donatree.reports.text import clean


def render(name: str, **values: Any) -> str:
    """A template with its values, as ASCII.

    Args:
        name: a file of this package.
        values: what the template names.

    Returns:
        HTML; what is not ASCII is written as a character reference, so that the bytes do not
        depend on the encoding of the file that it is written to.
    """
    text = _environment().get_template(name).render(values)
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


@cache
def read(name: str) -> str:
    """A file of this package, as text."""
    return importlib.resources.files("donatree.reports.html").joinpath(name).read_text("utf-8")


def style(*names: str) -> Markup:
    """Files of styles, as they stand between the tags of a style element."""
    return Markup("".join(map(read, names)))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        autoescape=True,
        finalize=_safe,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        prose=prose, short=sizes.short, size=sizes.size, exact=sizes.exact, leaves=sizes.leaves
    )
    return environment


def _safe(value: Any) -> Any:
    if isinstance(value, Markup):
        return value
    return clean(str(value))
