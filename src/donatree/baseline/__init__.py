"""What is expected of a program's donated leaves, kept in a small file beside it.

A baseline says of each function, signature and platform which leaves are donated and which of
them are lost. What is lost and not in it is a change for the worse, which a check fails on.

Example:
    >>> old = recorded(Account())
    >>> compare(old, Account(), old_name="donation.toml").fails
    False
"""

from donatree.baseline.comparing import compare as compare
from donatree.baseline.file import load as load
from donatree.baseline.file import read as read
from donatree.baseline.file import write as write
from donatree.baseline.ratchet import ratcheted as ratcheted
from donatree.baseline.record import Baseline as Baseline
from donatree.baseline.record import BaselineError as BaselineError
from donatree.baseline.snapshot import recorded as recorded
from donatree.baseline.toml import dumps as dumps
from donatree.ledger import Account as Account
