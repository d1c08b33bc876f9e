"""Types of the extension module."""

from typing import Any

__version__: str

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
