"""donatree tells, leaf by leaf, what became of the memory you donated to a JAX function.

The public names are these. Importing donatree imports neither JAX nor rich nor click: each is
imported when a function needs it.
"""

from donatree._version import __version__ as __version__
from donatree.advice import Advice as Advice
from donatree.advice import AdviceList as AdviceList
from donatree.advice import advise as advise
from donatree.audit import audit as audit
from donatree.audit import prove as prove
from donatree.audit import require as require
from donatree.errors import DonationError as DonationError
from donatree.errors import DonatreeError as DonatreeError
from donatree.errors import TargetError as TargetError
from donatree.holders import Holder as Holder
from donatree.holders import Holders as Holders
from donatree.holders import holders as holders
from donatree.holders.twins import Twins as Twins
from donatree.holders.twins import TwinsList as TwinsList
from donatree.holders.twins import twins as twins
from donatree.ledger import Account as Account
from donatree.ledger import Entry as Entry
from donatree.ledger import Finding as Finding
from donatree.ledger import Gate as Gate
from donatree.ledger import Ledger as Ledger
from donatree.targets.context import target as target
from donatree.watch import Watched as Watched
from donatree.watch import watch as watch
from donatree.whole import whole as whole

__all__ = [
    "Account",
    "Advice",
    "AdviceList",
    "DonationError",
    "DonatreeError",
    "Entry",
    "Finding",
    "Gate",
    "Holder",
    "Holders",
    "Ledger",
    "TargetError",
    "Twins",
    "TwinsList",
    "Watched",
    "__version__",
    "advise",
    "audit",
    "holders",
    "prove",
    "require",
    "target",
    "twins",
    "watch",
    "whole",
]


def load_ipython_extension(shell: object) -> None:
    """What IPython calls for `%load_ext donatree`."""
    from donatree.magic import register

    register(shell)
