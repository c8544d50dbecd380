"""Why a leaf was lost: the slot that should have taken it, and the cause in the evidence."""
