"""The harness of test_documents.py finds what is wrong with a document."""

import os
import textwrap

import pytest

from . import documents
from .document_runner import Runner

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are for a POSIX shell")

GOOD = """
    A server, `wing.py`:

    ```python
    import socketserver, sys

    with socketserver.TCPServer(("127.0.0.1", 50051), socketserver.BaseRequestHandler) as server:
        print("serving on", 50051, flush=True)
        server.serve_forever()
    ```

    Start it and leave it running:

    ```console
    $ python wing.py
    serving on 50051
    ```

    ```python
    import socket

    with socket.create_connection(("127.0.0.1", 50051)):
        print("connected", 1.25)
        print("after", "something", "else")
    ```

    ```text
    connected ...
    ...
    ```

    ```python
    assert socket  # of the block before
    ```

    ```console
    $ echo one; echo two
    one
    two
    $ python -c 'print("three")'
    three
    ```

    ```sh
    elsewhere --only   # is not run here
    touch made
    ```

    - In a list:

      ```json
      {"a": [1, 2]}
      ```
"""

# What is wrong, the document, and what the failure says.
BROKEN = {
    "python raises": ("```python\nx = 1\n\nraise OSError('no wing')\n```", "line 6, in <module>"),
    "python exits": ("```python\nimport sys; sys.exit('bye')\n```", "bye"),
    "wrong syntax": ("```python\nx = = 1\n```", "SyntaxError"),
    "another output": ("```python\nprint(2)\n```\n\n```text\n1\n```", "this is printed:\n2"),
    "output not shown": ("```python\nprint(2)\n```\n\n```json\n1\n```", "this is printed:\n2"),
    "no output": ("```python\nx = 1\n```\n\n```text\n1\n```", "this is shown:\n1"),
    "a text alone": ("```sh\ntrue\n```\n```text\n1\n```", "no block of Python"),
    "a name of no block before": ("```python\nx\n```", "NameError"),
    "command fails": ("```sh\necho so; exit 3\n```", "ends with status 3:\nso"),
    "unknown command": ("```sh\nphilote-slow\n```", "not found"),
    "console fails": ("```console\n$ false\n```", "ends with status 1"),
    "console prints more": ("```console\n$ echo 1; echo 2\n1\n```", "this is printed:\n1\n2"),
    "the second command": ("```console\n$ echo 1\n1\n$ echo 2\n3\n```", "this is printed:\n2"),
    "no command": ("```console\necho 1\n```", "begins with"),
    "ends too soon": (
        "So leave it running:\n\n```console\n$ echo 1\n1\n```\n\n```sh\nsleep 1\n```",
        "'echo 1' has ended with status 0",
    ),
    "starts in silence": (
        "So leave it running:\n\n```console\n$ sleep 9\n```",
        "by which a reader",
    ),
    "starts otherwise": (
        "So leave it running:\n\n```console\n$ echo 2; sleep 99\n1\n```",
        "this is printed:\n2",
    ),
    "a file that is not run": ("As `wing.py`:\n\n```python\nx = 1\n```", "wing.py is never run"),
    "a file that fails": (
        "As `wing.py`:\n\n```python\nimport wong\n```\n\n```sh\npython wing.py\n```",
        "No module named 'wong'",
    ),
    "no JSON": ("```json\n{\n```", "no JSON"),
    "unknown language": ("```rust\nfn main() {}\n```", "no rule for a block of 'rust'"),
    "no language": ("```\nx\n```", "no rule for a block of 'no language'"),
    "never closed": ("```python\nx = 1\n", "never closed"),
}


def test_a_good_document(tmp_path):
    with Runner(tmp_path) as runner:
        documents.run(textwrap.dedent(GOOD), runner, {"elsewhere --only"})
        assert (tmp_path / "made").exists()


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_document(what, tmp_path):
    text, complaint = BROKEN[what]
    with Runner(tmp_path) as runner, pytest.raises(documents.DocumentError) as caught:
        documents.run(f"# A document\n\n{text}\n", runner)
    assert complaint in str(caught.value)


def test_what_was_left_running_is_ended(tmp_path):
    text = (
        "Leave it running, so leave it running:\n\n```console\n$ echo $$; exec sleep 99\n...\n```"
    )
    with Runner(tmp_path) as runner:
        documents.run(text, runner)
        ((_, process),) = runner.running
        assert process.poll() is None
    assert process.returncode


def test_text_that_pattern_takes_literally():
    documents.compare("a+b (1)\n", "a+b (1)\n")
    with pytest.raises(documents.DocumentError):
        documents.compare("aab 1\n", "a+b (1)\n")
