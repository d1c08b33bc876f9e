"""How long a rival's server lives: as long as its parent keeps its input open."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


def serve(port: int, loop: Callable[[], None]) -> None:
    """Print a port, run a loop until standard input closes, and end the process."""
    threading.Thread(target=loop, daemon=True).start()
    print(port, flush=True)
    sys.stdin.read()
    # The loop waits for a peer, and none of these libraries need be told that it waits in vain.
    os._exit(0)
