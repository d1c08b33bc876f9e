"""The peer to beat: what packed buffers in pure Python make of philote-mdo.

Everything that Python alone can do is done here: payloads are framed by hand and merged into
the message, and read back from its serialised form; look-ups use sets and dicts; chunks hold
100,000 doubles.
"""

from gains.peer.install import install, uninstall

__all__ = ["install", "uninstall"]
