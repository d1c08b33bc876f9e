"""The code blocks of a document: found, and run in its order as its reader would.

- ``python`` after a sentence that ends in ":" and names a file: that file. Else a piece of the
  document's one Python session, in a process of its own. What it prints is the next ``text`` block.
- ``console``: commands after ``$``, each with what it prints. After "leave it running" the last one
  runs until the document's end.
- ``sh``: commands that print nothing of note. Each has to succeed.
- ``text``: what the session's last block prints.
- ``json``: has to parse.

In expected output ``...`` stands for any text. A port from 50051 to 50059 stands for a free one.
"""

import itertools
import json
import re
import socket
from typing import NamedTuple

_FENCE = re.compile(r"( *)(`{3,}|~{3,})\s*(.*)")
_PORT = re.compile(r"\b5005[1-9]\b")
_FILE = re.compile(r"`([\w/]+\.py)`")


class DocumentError(AssertionError):
    """A document is not true; the text says where."""


class Block(NamedTuple):
    """A fenced block: its language, its text, its first line's number, the paragraph before it."""

    language: str
    text: str
    line: int
    before: str

    @property
    def file(self):
        """The file that the sentence before says this is, or None."""
        names = _FILE.findall(self.before.splitlines()[-1]) if self.before.endswith(":") else []
        return names[0] if len(names) == 1 else None


def blocks(text):
    """Find the fenced blocks of a Markdown text."""
    lines = text.splitlines()
    found, before, number = [], [], 0
    while number < len(lines):
        opening = _FENCE.fullmatch(lines[number])
        if opening:
            end = _closing(lines, number, opening)
            inside = (line.removeprefix(opening[1]) for line in lines[number + 1 : end])
            text = "".join(f"{line}\n" for line in inside)
            found.append(Block(opening[3], text, number + 2, "\n".join(before)))
            before, number = [], end
        elif lines[number].strip():
            if not lines[number - 1].strip():
                before = []
            before.append(lines[number].strip())
        number += 1
    return found


def _closing(lines, number, opening):
    for at in range(number + 1, len(lines)):
        if lines[at].strip() == opening[2]:
            return at
    raise DocumentError(f"line {number + 1}: a block that is never closed")


def with_free_ports(text):
    """Put free ports in the place of those that a document shows."""
    # All at once, so that no two are the same.
    held = {port: socket.create_server(("127.0.0.1", 0)) for port in set(_PORT.findall(text))}
    free = {port: str(one.getsockname()[1]) for port, one in held.items()}
    for one in held.values():
        one.close()
    return _PORT.sub(lambda match: free[match[0]], text)


def run(text, runner, elsewhere=(), *, other_texts=False):
    """Run a document's blocks by a ``Runner``.

    Commands in ``elsewhere`` are left out. With ``other_texts`` a text may be something else than
    what Python prints: another test checks it.
    """
    found = blocks(with_free_ports(text))
    _check_files(found)
    for block, after in itertools.zip_longest(found, found[1:]):
        try:
            _run_block(block, after, runner, elsewhere)
        except DocumentError as failure:
            raise DocumentError(f"line {block.line}: {failure}") from None
    runner.check_running()
    for block, before in zip(found, [None, *found], strict=False):
        shown = before is not None and is_session(before)
        if block.language == "text" and not (shown or other_texts):
            raise DocumentError(
                f"line {block.line}: a text that no block of Python before it prints"
            )


def is_session(block):
    """Whether a block is a piece of its document's Python session."""
    return block.language == "python" and not block.file


def _run_block(block, after, runner, elsewhere):
    if block.language == "python" and block.file:
        runner.write(block.file, block.text)
    elif block.language == "python":
        printed = runner.python(block.text, block.line)
        compare(printed, after.text if after and after.language == "text" else "")
    elif block.language == "console":
        _run_console(block, runner)
    elif block.language == "sh":
        for command in commands(block):
            if command not in elsewhere:
                runner.shell(command)
    elif block.language == "json":
        _parse_json(block.text)
    elif block.language != "text":
        raise DocumentError(f"there is no rule for a block of {block.language or 'no language'!r}")


def _run_console(block, runner):
    steps = _steps(block.text)
    for step, (command, expected) in enumerate(steps, 1):
        if step == len(steps) and "leave it running" in block.before:
            compare(runner.start(command, len(expected.splitlines())), expected)
        else:
            compare(runner.shell(command), expected)


def _steps(text):
    """Give each command of a console block, with what it prints."""
    first, *rest = re.split(r"^\$ ", text, flags=re.MULTILINE)
    if first or not rest:
        raise DocumentError("a console block begins with '$ ' and a command")
    return [(command, output) for command, _, output in (step.partition("\n") for step in rest)]


def commands(block):
    """Give the commands of an ``sh`` block, without comments."""
    lines = (re.sub(r"\s+# .*", "", line).strip() for line in block.text.splitlines())
    return [line for line in lines if line]


def _check_files(found):
    """Every file that a document has its reader save is used by what follows."""
    for number, block in enumerate(found):
        if block.language == "python" and block.file:
            later = "".join(each.text for each in found[number + 1 :])
            if block.file not in later and f"import {block.file[:-3]}" not in later:
                raise DocumentError(f"line {block.line}: {block.file} is never run")


def _parse_json(text):
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise DocumentError(f"no JSON: {error}") from None


def compare(printed, expected):
    """Compare what was printed with what a document shows."""
    printed, expected = (
        "".join(f"{line.rstrip()}\n" for line in text.splitlines()) for text in (printed, expected)
    )
    if not re.fullmatch(pattern(expected), printed, re.DOTALL):
        raise DocumentError(f"this is shown:\n{expected}and this is printed:\n{printed}")


def pattern(expected):
    """Make a regular expression of a text in which ``...`` stands for any text."""
    # A line of its own stands for any lines, none too.
    lines = re.sub(r"^\.\.\.\n", "\0", expected, flags=re.MULTILINE)
    return re.escape(lines).replace("\0", "(?:.*\n)?").replace(r"\.\.\.", ".*")
