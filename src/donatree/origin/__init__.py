"""Where a drifted leaf stopped being of its type: the walk from its new value back to it."""
