"""The exception that stock philote_mdo has no class for."""

from philote_mdo.utils.validation import PhiloteServerError, PhiloteValidationError


class MalformedMessageError(PhiloteValidationError, PhiloteServerError):  # type: ignore[misc]
    """Received bytes are not a ``VariableMessage``.

    It is a ``PhiloteServerError`` too, since that is what stock's clients raise for a reply that
    they cannot parse.
    """
