"""The cases of the codec, of declarations and of chunks: nothing travels."""

from __future__ import annotations

from dataclasses import replace

from gains.flavours import PATCHED, STOCK
from gains.memory import FRESH, USED
from gains.model import Case, Side, Target, faster, flavours

# Growth of the time for each item over an eightfold size that still counts as linear: caches and
# allocation take a little, a quadratic scan would take eight times.
LINEAR = 1.5
# Where both sides spend their time in the protobuf runtime, one is as fast as the other.
TIE = 0.95
# The doubles of the cases of one array.
LARGE = 200_000
SIZES = (1, 2, 5, *(m * 10**e for e in range(1, 6) for m in (1, 2, 5)), 10**6)


def linear(name: str, subject: str) -> Case:
    """Make a case that shows how the time for each item grows from 500 items to 4,000."""
    sides = {f"{size:,}": Side(PATCHED, subject, size) for size in (500, 1000, 2000, 4000)}
    return Case(name, sides, (Target("4,000", "500", at_most=LINEAR),))


def codec(
    name: str, sides: dict[str, tuple[str, int]], *targets: Target, memory: str = USED
) -> Case:
    """Make a case that needs no patches: all sides in one process."""
    return Case(
        name,
        {label: Side(STOCK, subject, size) for label, (subject, size) in sides.items()},
        targets,
        rounds=31,
        memory=memory,
    )


def sweep(name: str, ours: str, peer: str, at_least: float = 1.0) -> Case:
    """Make a case of all sizes from 1 to 10^6 against the peer."""
    sides: dict[str, tuple[str, int]] = {}
    targets = []
    for size in SIZES:
        sides |= {f"core, {size:,}": (ours, size), f"peer, {size:,}": (peer, size)}
        targets.append(Target(f"core, {size:,}", f"peer, {size:,}", at_least=at_least))
    return replace(codec(name, sides, *targets), apart=True)


def encode_array(memory: str) -> Case:
    """Make the case of encoding one large array."""
    return codec(
        f"encode 200,000 doubles, {memory} memory",
        {
            "core": ("encode.wire", LARGE),
            "core, table": ("encode.table", LARGE),
            "ndarray.tobytes": ("encode.tobytes", LARGE),
            "stock protobuf": ("encode.stock", LARGE),
            "peer": ("encode.peer", LARGE),
        },
        Target("core", "ndarray.tobytes", at_most=1.2),
        Target("core, table", "ndarray.tobytes", at_most=1.2),
        Target("core", "stock protobuf", at_least=12),
        Target("core", "peer", at_least=1.0),
        memory=memory,
    )


def decode_array() -> Case:
    """Make the case of decoding one large array into place, for which the core takes no memory."""
    return codec(
        "decode 200,000 doubles into place",
        {
            "core": ("decode.table", LARGE),
            "core, view": ("decode.wire", LARGE),
            "np.copyto": ("decode.copyto", LARGE),
            "stock protobuf": ("decode.stock", LARGE),
            "peer": ("decode.peer", LARGE),
        },
        Target("core", "np.copyto", at_most=1.3),
        Target("core, view", "np.copyto", at_most=1.3),
        Target("core", "stock protobuf", at_least=60),
        Target("core", "peer", at_least=1.0),
    )


def small_messages() -> list[Case]:
    """Give the cases of one double in a call of 1,000 variables; times are for each message."""
    where = "one double, in a call of 1,000 variables"
    return [
        codec(
            f"encode {where}",
            {
                "core": ("scalars.encode.table", 1000),
                "core, table looked up": ("scalars.encode.call", 1000),
                "core, one by one": ("scalars.encode.wire", 1000),
                "stock": ("scalars.encode.stock", 1000),
                "peer": ("scalars.encode.peer", 1000),
            },
            Target("core", "stock", at_least=15),
            Target("core, table looked up", "stock"),
            Target("core, one by one", "stock"),
            Target("core", "peer", at_least=1.0),
        ),
        codec(
            f"decode {where}",
            {
                "core": ("scalars.decode.table", 1000),
                "core, one by one": ("scalars.decode.wire", 1000),
                "stock": ("scalars.decode.stock", 1000),
                "peer": ("scalars.decode.peer", 1000),
            },
            Target("core", "stock", at_least=15),
            Target("core, one by one", "stock"),
            Target("core", "peer", at_least=1.0),
        ),
        codec(
            f"decode {where}, into fresh arrays",
            {
                "core": ("scalars.fresh.table", 1000),
                "stock": ("scalars.fresh.stock", 1000),
            },
            Target("core", "stock"),
        ),
    ]


def sweeps() -> list[Case]:
    """Give the cases against the peer at every size."""
    sizes = "1 to 10^6 doubles"
    return [
        sweep(f"encode, {sizes}", "encode.wire", "encode.peer"),
        sweep(f"encode by table, {sizes}", "encode.table", "encode.peer"),
        sweep(f"decode into place, {sizes}", "decode.table", "decode.peer"),
        sweep(f"decode to a view and copy, {sizes}", "decode.wire", "decode.peer"),
        sweep(f"fill a message, {sizes}", "message.fill.wire", "message.fill.peer", TIE),
        sweep(f"read a message, {sizes}", "message.read.wire", "message.read.peer", TIE),
    ]


def metadata() -> list[Case]:
    """Give the cases of declarations, partials and chunks."""
    return [
        flavours("preallocate_partials, 1,000 partials", "preallocate_partials", 1000, faster(100)),
        linear("preallocate_partials, time for each partial", "preallocate_partials"),
        flavours(
            "declare 2,000 inputs and 2,000 outputs", "declare", 2000, faster(50, 1.5), rounds=7
        ),
        flavours(
            "declare 2,000 inputs and 2,000 outputs, scalars without units",
            "declare.scalars",
            2000,
            faster(50, 1.5),
            rounds=7,
        ),
        linear("declare, time for each variable", "declare"),
        linear("apply shapes in the server, time for each variable", "apply_shapes.server"),
        linear("apply shapes in the client, time for each variable", "apply_shapes.client"),
        flavours("chunk indices of 100 scalars", "chunk_indices", 100, faster(15)),
    ]


def codec_cases() -> list[Case]:
    """Give every case of this kind."""
    return [
        *metadata(),
        encode_array(FRESH),
        encode_array(USED),
        decode_array(),
        *small_messages(),
        *sweeps(),
    ]
