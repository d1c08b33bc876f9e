"""The native transport, as the patches use it: whole calls, without an object for each message."""

from __future__ import annotations

from philote_fast import _core
from philote_fast.transport.call import call_error
from philote_fast.transport.multicallable import StreamStream, StreamUnary

__all__ = ["StreamStream", "StreamUnary"]

_core.use_call_error(call_error)
