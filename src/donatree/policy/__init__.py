"""What the user asked for in ``[tool.donatree]`` of pyproject.toml and in comments of the source.

The verdicts stay what they are: an ignore decides what is told of them and what fails for them.
"""

from __future__ import annotations

from donatree.policy.apply import applied as applied
from donatree.policy.settings import Settings as Settings
from donatree.policy.settings import load as load
from donatree.policy.settings import read as read
