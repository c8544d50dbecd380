"""The only room that touches private JAX. README.md says what it relies on and what it promises."""
