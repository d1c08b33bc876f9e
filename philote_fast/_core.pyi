"""Types of the extension module."""

__version__: str
