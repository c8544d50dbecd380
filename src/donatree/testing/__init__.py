"""Tests that watch donation: the marker, the fixture and the switch of the pytest plugin.

Nothing here is imported before a test uses one of them.
"""
