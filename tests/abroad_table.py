"""Audits programs for a target in a process with 8 devices, and prints what came of each as JSON.

Usage: abroad_table.py TARGET NAME...
"""

from __future__ import annotations

import json
import sys

import donatree
from abroad_programs import PROGRAMS


def main() -> None:
    name, *programs = sys.argv[1:]
    found = {}
    with donatree.target(name, full=True):  # one process compiles them all
        for program in programs:
            try:
                jitted, args = PROGRAMS[program]()
                found[program] = donatree.audit(jitted, *args).to_dict()
            except donatree.DonatreeError as error:
                found[program] = {"refused": str(error)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
