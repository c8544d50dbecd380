"""Reading what XLA's compiler writes, without JAX."""

from __future__ import annotations

from donatree.hlo.header import Alias, Donor, EntryShape, Header, HeaderError, read_header

__all__ = ["Alias", "Donor", "EntryShape", "Header", "HeaderError", "read_header"]
