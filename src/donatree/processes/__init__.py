"""Programs of several processes: each leaves its ledger on disk, process 0 merges and reports.

======== ==========================================================================================
run      what the processes of one run have in common, and which of them is alive
folder   the files: `run.json`, written by process 0 before the others can join, and a ledger each
group    this process among the others, from `jax.distributed.initialize` to its end
waiting  process 0 waits for the others, not for ever
merge    several accounts become one
late     the report of a process that died, made by its witness
======== ==========================================================================================

Nothing here imports JAX but `group.Group.watch`, which is called once the program has done so.
"""
