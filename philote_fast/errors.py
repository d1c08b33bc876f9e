"""The exceptions of philote_mdo that this package raises, and the one it has no class for."""

try:
    from philote_mdo.utils.validation import PhiloteServerError, PhiloteValidationError
except ImportError:
    # Another philote_mdo than 0.8: it stays stock, and the wire functions still need their errors.
    PhiloteServerError, PhiloteValidationError = RuntimeError, ValueError

__all__ = [
    "MalformedMessageError",
    "PhiloteServerError",
    "PhiloteValidationError",
    "WrongDtypeError",
]


class MalformedMessageError(PhiloteValidationError, PhiloteServerError):  # type: ignore[misc]
    """Received bytes are not a ``VariableMessage``.

    It is a ``PhiloteServerError`` too, since that is what stock's clients raise for a reply that
    they cannot parse.
    """


class WrongDtypeError(PhiloteValidationError, TypeError):  # type: ignore[misc]
    """Values are not real numbers: texts, dates, objects of other kinds, complex numbers.

    It is a ``TypeError`` too, since that is what the protobuf runtime raises for them.
    """
