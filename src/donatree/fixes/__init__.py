"""Fixes that were tried: `attempts` builds and compiles cured programs, `patch` makes the diff.

A run that proves nothing needs none of it but `twins`, so nothing is imported here.
"""
