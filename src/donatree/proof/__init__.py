"""What a donation saves, measured by compiling the program without it.

Nothing is run. `saving` compiles the undonated twin and takes the promise from groups of leaves;
`budget` says how many seconds of further compiles there are.
"""
