"""A child process that does what its parent asks for, by lines of JSON.

Requests come on standard input, ``{"do": METHOD, ...}``, and are answered on standard output,
``{"result": ...}`` or ``{"error": TEXT, "trace": TRACEBACK}``. The first answer tells that the
process is ready. It ends when its input does: at the latest with its parent.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TextIO

import grpc

from philote_fast.bench.errors import BenchError

# How long a process whose parent has gone may take to end in good order: a discipline may compute
# for hours.
_LAST_SECONDS = 2.0


def answer_parent(make: Callable[[], Any]) -> None:
    """Answer requests until there are no more.

    Parameters
    ----------
    make : callable
        Makes the object whose methods are asked for; it has ``close``.
    """
    requests, answers = _own_streams()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, lines), daemon=True).start()
    made = None

    def begin() -> None:
        nonlocal made
        made = make()

    _write(answers, _answer(begin))
    while line := lines.get():
        request = json.loads(line)
        _write(answers, _answer(getattr(made, request.pop("do")), **request))
    if made is not None:
        made.close()


def describe(error: BaseException) -> str:
    """Say in a line what went wrong."""
    if isinstance(error, BenchError):
        return str(error)
    if isinstance(error, grpc.RpcError) and hasattr(error, "code"):
        return f"{error.code().name}: {error.details()}"
    return f"{type(error).__name__}: {error}"


def _answer(do: Callable[..., Any], **request: Any) -> dict[str, Any]:
    try:
        return {"result": do(**request)}
    except Exception as error:
        return {"error": describe(error), "trace": traceback.format_exc()}


def _write(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _own_streams() -> tuple[TextIO, TextIO]:
    """Keep the two pipes to the parent from whatever else reads or writes in this process."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    sys.stdout.flush()
    os.dup2(2, 1)
    return requests, answers


def _read(requests: TextIO, lines: queue.SimpleQueue[str]) -> None:
    """Hand requests on; see to it that the process ends when there are no more."""
    for line in requests:
        lines.put(line)
    lines.put("")
    # At its end Python waits for threads, and one may be inside a discipline's computation.
    time.sleep(_LAST_SECONDS)
    os._exit(1)
