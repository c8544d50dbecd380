"""Why a leaf was lost: the slot that should have taken it, and the cause that the evidence shows."""
