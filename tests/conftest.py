"""All tests run on the CPU; helper modules beside them can be imported."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parent))

# Under nohup, or in the background of a script, signals are ignored, and so they would be in the
# programs that the tests start.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        with contextlib.suppress(ValueError):  # not the main thread
            signal.signal(_number, signal.SIG_DFL)
