"""Use after donation: which call took a dead array, where it was read, and how to say so.

Nothing in here imports JAX before there is an error to explain.
"""
