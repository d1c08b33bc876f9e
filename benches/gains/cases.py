"""The rows of the comparison: what is measured against what, and what it has to reach."""

from __future__ import annotations

from gains.call_cases import call_cases
from gains.codec_cases import codec_cases
from gains.model import Case
from gains.openmdao_cases import openmdao_cases


def all_cases() -> list[Case]:
    """Give every case, in the order of the report."""
    return [*call_cases(), *openmdao_cases(), *codec_cases()]
