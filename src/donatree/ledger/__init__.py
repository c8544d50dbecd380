"""The words of donatree as data: leaves, slots, gates, entries, findings, ledgers.

Every room reads or writes these records. This room imports no JAX, so a ledger can be saved,
read back, compared and reported on a machine without it.
"""

from donatree.ledger.account import SCHEMA_VERSION as SCHEMA_VERSION
from donatree.ledger.account import Account as Account
from donatree.ledger.array import ArraySpec as ArraySpec
from donatree.ledger.array import Leaf as Leaf
from donatree.ledger.array import Slot as Slot
from donatree.ledger.book import Ledger as Ledger
from donatree.ledger.book import Live as Live
from donatree.ledger.comparison import Change as Change
from donatree.ledger.comparison import ChangeKind as ChangeKind
from donatree.ledger.comparison import Comparison as Comparison
from donatree.ledger.entry import Entry as Entry
from donatree.ledger.entry import by_bytes as by_bytes
from donatree.ledger.finding import Finding as Finding
from donatree.ledger.finding import Level as Level
from donatree.ledger.fix import Edit as Edit
from donatree.ledger.fix import Fix as Fix
from donatree.ledger.fix import FixKind as FixKind
from donatree.ledger.fix import FixStatus as FixStatus
from donatree.ledger.fix import Grade as Grade
from donatree.ledger.fix import Tally as Tally
from donatree.ledger.gate import GATES as GATES
from donatree.ledger.gate import Gate as Gate
from donatree.ledger.place import Label as Label
from donatree.ledger.place import Location as Location
from donatree.ledger.program import Fault as Fault
from donatree.ledger.program import Process as Process
from donatree.ledger.program import ProcessStatus as ProcessStatus
from donatree.ledger.program import Rehearsal as Rehearsal
from donatree.ledger.target import Holding as Holding
from donatree.ledger.target import MadeCopy as MadeCopy
from donatree.ledger.target import Refusal as Refusal
from donatree.ledger.target import Target as Target
