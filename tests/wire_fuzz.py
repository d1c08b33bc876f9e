"""Seeded generators of messages: well spelled, oddly spelled, and spoilt."""

import struct

from .wire_oracle import group, number, sized, tag, varint

TEXTS = [b"", b"x", b"wing.twist", "é".encode(), b"\0", b"n" * 130]
BAD_TEXTS = [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"]
BITS = [0, 1, 127, 128, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 0x7FF8000000000001, 0xFFF0000000000000]


def text(rng):
    return rng.choice(BAD_TEXTS if rng.random() < 0.02 else TEXTS)


def integer(rng):
    return rng.choice([rng.choice(BITS), rng.getrandbits(rng.randint(1, 64))])


def pad(rng):
    return rng.randint(1, 6) if rng.random() < 0.05 else 0


def double(rng):
    if rng.random() < 0.5:
        return struct.pack("<d", rng.choice([0.0, -0.0, 1.0, 3.0, 0.1, 1e300, -(2.0**53)]))
    return struct.pack("<Q", rng.choice(BITS))


def unknown(rng, depth=0):
    """A field that no message has, or that has the wrong wire type."""
    field = rng.choice([1, 2, 3, 7, 15, 16, 1000, 2**29 - 1])
    choice = rng.randrange(5)
    if choice == 0:
        return number(field, integer(rng), pad(rng))
    if choice == 1:
        return tag(field, 1) + double(rng)
    if choice == 2:
        return tag(field, 5) + double(rng)[:4]
    if choice == 3 and depth < 4:
        return group(field, unknown(rng, depth + 1))
    return sized(field + 16 if field < 16 else field, bytes(rng.choices(range(256), k=3)), pad(rng))


def doubles(rng):
    if rng.random() < 0.2:
        return tag(6, 1) + double(rng)
    payload = b"".join(double(rng) for _ in range(rng.choice([0, 1, 1, 2, 17])))
    if rng.random() < 0.02:
        payload = payload[:-1]
    return sized(6, payload, pad(rng))


def array(rng):
    fields = [
        lambda: sized(1, text(rng), pad(rng)),
        lambda: sized(2, text(rng), pad(rng)),
        lambda: number(3, integer(rng), pad(rng)),
        lambda: number(4, integer(rng), pad(rng)),
        lambda: number(5, rng.choice([0, 3, 5, integer(rng)]), pad(rng)),
        lambda: doubles(rng),
    ]
    if rng.random() < 0.6:
        chosen = [field for field in fields if rng.random() < 0.8]
    else:
        chosen = rng.choices([*fields, lambda: unknown(rng)], k=rng.randint(0, 9))
    return b"".join(field() for field in chosen)


def value(rng, depth=0):
    kinds = [
        lambda: number(1, rng.choice([0, 0, integer(rng)])),
        lambda: tag(2, 1) + double(rng),
        lambda: sized(3, text(rng), pad(rng)),
        lambda: number(4, rng.choice([0, 1, integer(rng)])),
        lambda: unknown(rng),
    ]
    if depth < 4:
        kinds += [
            lambda: sized(5, entries(rng, depth + 1)),
            lambda: sized(6, items(rng, depth + 1)),
        ]
    count = 1 if rng.random() < 0.8 else rng.randint(0, 3)
    return b"".join(rng.choice(kinds)() for _ in range(count))


def items(rng, depth):
    return b"".join(
        unknown(rng) if rng.random() < 0.05 else sized(1, value(rng, depth))
        for _ in range(rng.randint(0, 3))
    )


def entries(rng, depth):
    out = b""
    for _ in range(rng.randint(0, 3)):
        fields = [sized(1, text(rng)), sized(2, value(rng, depth))]
        if rng.random() < 0.2:
            fields = rng.choices(
                [*fields, unknown(rng), sized(2, value(rng, depth))], k=rng.randint(0, 4)
            )
        out += unknown(rng) if rng.random() < 0.05 else sized(1, b"".join(fields))
    return out


def discrete(rng):
    fields = [
        lambda: sized(1, text(rng)),
        lambda: number(2, rng.choice([1, 4, integer(rng)])),
        lambda: sized(3, value(rng), pad(rng)),
    ]
    if rng.random() < 0.3:
        fields = rng.choices([*fields, lambda: unknown(rng)], k=rng.randint(0, 5))
    return b"".join(field() for field in fields)


def structured(rng):
    """A VariableMessage, most often one that the runtime accepts."""
    out = b""
    for _ in range(1 if rng.random() < 0.8 else rng.randint(0, 3)):
        choice = rng.random()
        if choice < 0.48:
            out += sized(1, array(rng), pad(rng))
        elif choice < 0.96:
            out += sized(2, discrete(rng), pad(rng))
        else:
            out += unknown(rng)
    return out


def mutated(rng, buffer):
    """The same with a few bytes changed, cut out, doubled or put in."""
    out = bytearray(buffer or b"\x0a")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(out) + 1)
        choice = rng.randrange(5)
        if choice == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif choice == 1 and at < len(out):
            out[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        elif choice == 2:
            del out[at : at + rng.randint(1, 3)]
        elif choice == 3:
            out[at:at] = out[at : at + rng.randint(1, 12)]
        else:
            out[at:at] = varint(integer(rng))
    return bytes(out)


def noise(rng):
    """Random bytes, most of them ones that mean something at the start of a field."""
    likely = [
        0x0A,
        0x12,
        0x1A,
        0x22,
        0x2A,
        0x32,
        0x08,
        0x10,
        0x18,
        0x20,
        0x28,
        0x31,
        0x4B,
        0x4C,
        0,
        1,
        2,
        3,
        4,
        8,
    ]
    return bytes(
        rng.choice(likely) if rng.random() < 0.85 else rng.randrange(256)
        for _ in range(rng.randint(0, 24))
    )
