"""Which layer of a call instructions belong to."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePath

from gains.callgrind import Where
from philote_fast.bench.errors import BenchError

METADATA = "metadata: hashing, comparing"
CODEC = "encoding, framing"
COPYING = "copying"
HTTP2 = "HTTP/2, sockets"
GRPCIO = "grpcio"
PROTOBUF = "protobuf"
NUMPY = "NumPy: arrays"
MEMORY = "allocating"
PYTHON = "Python"
OTHER = "other"
LAYERS = (PYTHON, NUMPY, PROTOBUF, GRPCIO, METADATA, CODEC, COPYING, HTTP2, MEMORY, OTHER)

SYMBOLS = (
    "CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none "
    "maturin develop --release"
)

# The first that is found in the name of a binary.
_BINARIES = (
    (r"^_core\.", None),
    (r"^cygrpc\.", GRPCIO),
    (r"^(_message\.|_upb)", PROTOBUF),
    (r"^(_multiarray_umath|_umath)", NUMPY),
    (r"^(lib)?python3", PYTHON),
    (r"^(libc|libm|ld|libpthread|libstdc|libgcc|libssl)\b", OTHER),
    # The interpreter's own modules: time, socket, _struct.
    (r"\.cpython-.*\.so$", PYTHON),
)
# Of the C library, or inlined from it: whoever calls them.
_FUNCTIONS = (
    (r"mem(cpy|move|pcpy)", COPYING),
    (r"(memcmp|bcmp)", METADATA),
    (
        r"(malloc|calloc|realloc|free|memalign|sysmalloc|unlink_chunk|tcache|munmap|mmap|memset)",
        MEMORY,
    ),
    (r"(epoll|recv|send|writev|readv|poll|socket)", HTTP2),
)
# Of the project's own source.
_FILES = (
    (r"src/table/headers\.rs", CODEC),
    (r"src/(table/|wire/metadata)", METADATA),
    (r"src/python/(watched|hooks|tables|declare)", METADATA),
    (r"src/python/(arrays|fresh|flat|elements)", NUMPY),
    (r"src/transport/(framing|writer|compression)", CODEC),
    (r"src/(python/transport|transport)/", HTTP2),
    (r"src/(wire|python)/", CODEC),
)
# Of what it is built with; the standard library's belong to the function that they are in.
_CRATES = (
    (r"\b(pyo3|pyo3_ffi)\b", PYTHON),
    (r"\bnumpy\b", NUMPY),
    (r"\b(h2|http|bytes|mio|tokio\w*|slab|socket2|fnv|indexmap|futures_core|tracing)\b", HTTP2),
    (r"\b(hashbrown|rustc_hash)\b", METADATA),
)


def by_layer(found: Counter[Where]) -> Counter[str]:
    """Add instructions up by layer."""
    layers: Counter[str] = Counter()
    for where, count in found.items():
        layers[layer(where)] += count
    return layers


def layer(where: Where) -> str:
    """Give the layer of a place."""
    name = PurePath(where.binary).name
    for pattern, kind in _BINARIES:
        if re.search(pattern, name):
            if kind is None:
                return _of_rust(where)
            return _first(_FUNCTIONS, where.function) or kind if kind == OTHER else kind
    return OTHER


def require_symbols(found: Counter[Where]) -> None:
    """Raise, with what helps, where the extension has been built without the names of functions."""
    ours = [where for where in found if PurePath(where.binary).name.startswith("_core.")]
    if ours and not any("src/" in where.file for where in ours):
        raise BenchError(f"the extension has no names of functions and files: {SYMBOLS}")


def _of_rust(where: Where) -> str:
    """Give the layer of a place in the extension, by its file, or by the function around it."""
    crate = re.search(r"/registry/src/[^/]+/(.+?)-\d+\.", where.file)
    if crate:
        return _first(_CRATES, crate[1].replace("-", "_")) or _of_function(where.function)
    return _first(_FILES, where.file) or _of_function(where.function)


def _of_function(function: str) -> str:
    path = re.search(r"_core::([\w:]+)", function)
    if path:
        as_file = "src/" + path[1].replace("::", "/")
        return _first(_FILES, as_file.replace("table/headers", "table/headers.rs")) or CODEC
    return _first(_CRATES, function) or _first(_FUNCTIONS, function) or OTHER


def _first(rules: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((kind for pattern, kind in rules if re.search(pattern, text)), None)
