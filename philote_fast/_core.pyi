"""Types of the Rust extension."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, SupportsIndex, final

import numpy as np
import numpy.typing as npt
from _typeshed import ReadableBuffer
from google.protobuf.struct_pb2 import Value
from philote_mdo.generated.data_pb2 import Array

__all__ = [
    "ChunkIndices",
    "Continuous",
    "Declared",
    "Discrete",
    "NativeCall",
    "NativeChannel",
    "Table",
    "Tables",
    "TlsClientConfig",
    "TlsServerConfig",
    "__version__",
    "decode",
    "encode_array",
    "forked",
    "get_array_data",
    "get_chunk_indices",
    "get_partials_shape",
    "patched_chunk_indices",
    "python_to_value",
    "read_array_into",
    "read_into",
    "read_shapes",
    "set_array_data",
    "use_exceptions",
    "value_to_python",
]

__version__: str

def use_exceptions(
    validation: type[BaseException],
    malformed: type[BaseException],
    wrong_dtype: type[BaseException],
) -> None: ...

@final
class Continuous:
    __match_args__ = ("name", "subname", "start", "end", "type", "data")
    @property
    def name(self) -> str: ...
    @property
    def subname(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def type(self) -> int: ...
    @property
    def data(self) -> npt.NDArray[np.float64]: ...

@final
class Discrete:
    __match_args__ = ("name", "type", "value")
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> int: ...
    @property
    def value(self) -> Any: ...

@final
class ChunkIndices:
    def __iter__(self) -> ChunkIndices: ...
    def __next__(self) -> tuple[int, int]: ...
    def __length_hint__(self) -> int: ...

def encode_array(
    values: npt.ArrayLike,
    *,
    name: str,
    subname: str = "",
    type: SupportsIndex = 0,
    start: SupportsIndex = 0,
    end: SupportsIndex | None = None,
) -> bytes: ...
def decode(buffer: ReadableBuffer) -> Continuous | Discrete | None: ...
def get_chunk_indices(
    num_values: SupportsIndex, chunk_size: SupportsIndex
) -> Iterator[tuple[int, int]]: ...
def patched_chunk_indices(
    num_values: SupportsIndex, chunk_size: SupportsIndex
) -> Iterator[tuple[int, int]]: ...
def get_partials_shape(
    function_shape: Iterable[int], variable_shape: Iterable[int]
) -> tuple[int, ...]: ...
def set_array_data(message: Array, values: npt.ArrayLike) -> None: ...
def get_array_data(message: Array) -> npt.NDArray[np.float64]: ...
def read_array_into(message: Array, destination: npt.NDArray[np.float64]) -> None: ...
def value_to_python(value: Value) -> Any: ...
def python_to_value(obj: object) -> Value: ...

@final
class Declared:
    """The variables that one metadata list declares."""

    def __new__(
        cls, message: type, namespace: dict[str, Any], expected: dict[str, Any]
    ) -> Declared: ...
    def add(
        self,
        list: object,
        kind: int,
        name: object,
        shape: object,
        units: object,
        dynamic_shape: object,
        residual: bool = False,
        /,
    ) -> bool: ...

@final
class Table:
    """What a discipline's metadata said at one moment."""

    def allocate_inputs(
        self,
        inputs: MutableMapping[str, Any],
        flat_inputs: MutableMapping[str, Any],
        outputs: MutableMapping[str, Any] | None = None,
        flat_outputs: MutableMapping[str, Any] | None = None,
    ) -> None: ...
    def allocate_partials(self, partials: dict[Any, Any]) -> None: ...
    def read_request(
        self, messages: Iterable[Any], num_double: int, with_outputs: bool
    ) -> tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any], dict[str, Any]]: ...
    def write_outputs(
        self,
        outputs: Mapping[str, Any],
        discrete_outputs: Mapping[str, Any] | None,
        num_double: int,
    ) -> list[bytes]: ...
    def write_residuals(self, residuals: Mapping[str, Any], num_double: int) -> list[bytes]: ...
    def write_partials(
        self, partials: Mapping[tuple[str, str], Any], num_double: int
    ) -> list[bytes]: ...
    def write_request(
        self,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None,
        discrete_inputs: Mapping[str, Any] | None,
        discrete_outputs: Mapping[str, Any] | None,
        num_double: int,
    ) -> list[bytes]: ...
    def read_outputs(
        self, messages: Iterable[Any], num_double: int
    ) -> tuple[dict[str, Any], dict[str, Any]]: ...
    def read_residuals(self, messages: Iterable[Any], num_double: int) -> dict[str, Any]: ...
    def read_partials(
        self, messages: Iterable[Any], num_double: int, partials: dict[Any, Any]
    ) -> None: ...

@final
class Tables:
    """The tables of one client or server, rebuilt when the metadata changes."""

    def __new__(cls) -> Tables: ...
    def get(self, variables: Iterable[Any], partials: Iterable[Any] | None = None) -> Table: ...

@final
class TlsClientConfig:
    """What a channel needs to know for TLS."""

    def __new__(
        cls,
        root_certificates: bytes | None = None,
        private_key: bytes | None = None,
        certificate_chain: bytes | None = None,
    ) -> TlsClientConfig: ...

@final
class TlsServerConfig:
    """What a server needs to know for TLS."""

    def __new__(
        cls,
        private_key_certificate_chain_pairs: Sequence[tuple[bytes, bytes]],
        root_certificates: bytes | None = None,
        require_client_auth: bool = False,
    ) -> TlsServerConfig: ...

def read_into(
    messages: Iterable[Any],
    flat_inputs: Mapping[str, Any],
    flat_outputs: Mapping[str, Any] | None,
    discrete_inputs: MutableMapping[str, Any],
    discrete_outputs: MutableMapping[str, Any],
) -> None: ...
def read_shapes(
    messages: Iterable[Any], declared: dict[tuple[int, str], Any]
) -> dict[tuple[int, str], tuple[int, ...]]: ...

@final
class NativeChannel:
    """A channel, in each process its own."""

    def __new__(
        cls, target: str, options: dict[str, Any], tls: TlsClientConfig | None = None
    ) -> NativeChannel: ...
    @property
    def authority(self) -> str: ...
    def start(
        self,
        path: str,
        metadata: Iterable[Any],
        timeout: float | None,
        wait_for_ready: bool,
        compression: int,
    ) -> NativeCall: ...
    def state(self, try_to_connect: bool) -> int: ...
    def wait_events(self, known_state: int, timeout: float) -> tuple[int, list[int]]: ...
    def poke(self) -> None: ...
    def close(self) -> None: ...

@final
class NativeCall:
    """A call on a native channel."""

    @property
    def id(self) -> int | None: ...
    def send(self, message: bytes, last: bool = False) -> bool: ...
    def send_all(self, messages: list[bytes], last: bool = False) -> bool: ...
    def half_close(self) -> None: ...
    def flush(self) -> None: ...
    def receive(self) -> bytes | None: ...
    def __iter__(self) -> NativeCall: ...
    def __next__(self) -> bytes: ...
    def initial_metadata(self) -> tuple[tuple[str, str | bytes], ...]: ...
    def status(self) -> tuple[int, str, tuple[tuple[str, str | bytes], ...]]: ...
    def expect_one(self) -> None: ...
    def exchange(self, message: bytes) -> tuple[bytes | None, int]: ...
    def ended(self) -> bool: ...
    def wait_ended(self, timeout: float | None) -> bool: ...
    def watch(self) -> None: ...
    def cancel(self, code: int, details: str) -> bool: ...
    def time_remaining(self) -> float | None: ...

def forked() -> None: ...
