"""Put the peer's functions in the place of stock's, and take them out again."""

from __future__ import annotations

from typing import Any

from philote_mdo.general.discipline import Discipline
from philote_mdo.general.discipline_client import DisciplineClient
from philote_mdo.general.discipline_server import DisciplineServer
from philote_mdo.general.explicit_server import ExplicitServer
from philote_mdo.generated import disciplines_pb2_grpc as services

from gains.peer import client, discipline, rust_codec, server

PATCHES: list[tuple[Any, str, Any]] = [
    (Discipline, "add_input", discipline.add_input),
    (Discipline, "add_output", discipline.add_output),
    (Discipline, "_clear_data", discipline.clear_data),
    (DisciplineClient, "__init__", client.with_large_chunks(DisciplineClient.__init__)),
    (DisciplineClient, "_assemble_input_messages", client.assemble_input_messages),
    (DisciplineClient, "_recover_outputs", client.recover_outputs),
    (DisciplineClient, "_recover_partials", client.recover_partials),
    (DisciplineClient, "send_variable_shapes", client.send_variable_shapes),
    (DisciplineServer, "__init__", server.with_large_chunks(DisciplineServer.__init__)),
    (DisciplineServer, "preallocate_partials", server.preallocate_partials),
    (DisciplineServer, "process_inputs", server.process_inputs),
    (DisciplineServer, "SetVariableShapes", server.set_variable_shapes),
    (ExplicitServer, "ComputeFunction", server.compute_function),
    (ExplicitServer, "ComputeGradient", server.compute_gradient),
]
# The same with the codec in Rust: only how arrays become bytes is another.
RUST_CODEC: list[tuple[Any, str, Any]] = [
    (client, "codec", rust_codec),
    (server, "codec", rust_codec),
    (services, "data__pb2", rust_codec.Module(services.data__pb2)),
]

_stock: list[tuple[Any, str, Any]] = []


def install(*, codec_in_rust: bool = False) -> None:
    """Patch stock philote_mdo with the peer; a second call does nothing."""
    if _stock:
        return
    for owner, name, replacement in [*PATCHES, *(RUST_CODEC if codec_in_rust else ())]:
        _stock.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, replacement)


def uninstall() -> None:
    """Restore what install replaced."""
    while _stock:
        owner, name, original = _stock.pop()
        setattr(owner, name, original)
