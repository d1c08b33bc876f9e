"""The Philote wire format as plain functions: encode, decode, chunk indices, partial shapes.

Bytes are those of the protobuf runtime, and values are read and written as stock philote_mdo
does, only faster. Everything here is made in Rust; each name carries its own documentation.
"""

from philote_fast._core import (
    Continuous,
    Discrete,
    decode,
    encode_array,
    get_array_data,
    get_chunk_indices,
    get_partials_shape,
    python_to_value,
    read_array_into,
    set_array_data,
    value_to_python,
)

__all__ = [
    "Continuous",
    "Discrete",
    "decode",
    "encode_array",
    "get_array_data",
    "get_chunk_indices",
    "get_partials_shape",
    "python_to_value",
    "read_array_into",
    "set_array_data",
    "value_to_python",
]
