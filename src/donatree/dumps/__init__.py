"""Compiled modules on disk: what was promised in them, what XLA granted, what it costs.

Neither JAX nor protobuf is needed. A folder of any size is read module by module.

Example:
    >>> from donatree.dumps.folder import find
    >>> from donatree.dumps.reading import read
    >>> for group in find("dump"):  # doctest: +SKIP
    ...     print(group.name, read(group).ledger.summary)
"""
