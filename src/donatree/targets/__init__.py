"""Compiling for hardware that is not there: names, compile children, and what their dumps say."""
