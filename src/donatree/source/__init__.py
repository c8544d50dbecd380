"""Reading the user's code: nodes at instructions, bindings of names, values. No JAX in here."""
