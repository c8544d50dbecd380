"""The findings as SARIF 2.1.0: for code scanning, and for editors."""

from donatree.reports.sarif.log import write as write
