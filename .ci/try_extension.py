"""Tries the installed extension alone, where philote-mdo and grpcio cannot be installed."""

import importlib.metadata
import importlib.util
import struct
import sys

import numpy as np

distribution = importlib.metadata.distribution("philote-fast")
(core,) = (
    path for path in distribution.files if path.name.startswith("_core.") and path.suffix != ".pyi"
)
spec = importlib.util.spec_from_file_location("philote_fast._core", distribution.locate_file(core))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

assert module.__version__ == distribution.version, (module.__version__, distribution.version)
values = np.array([1.5, -0.0, np.inf, 5e-324])
# A VariableMessage, written by hand: Array { name "x", start 0, end 3, type kInput, data }.
array = b"\x0a\x01x" + b"\x20\x03" + b"\x32\x20" + struct.pack("<4d", *values)
message = b"\x0a" + bytes([len(array)]) + array
assert module.encode_array(values, name="x", start=0) == message
decoded = module.decode(message)
assert (decoded.name, decoded.start, decoded.end) == ("x", 0, 3)
assert decoded.data.tobytes() == values.tobytes()
sys.stdout.write(f"the extension works: {core}\n")
