"""`python -m donatree` is the command line."""

from donatree.cli import main

main()
