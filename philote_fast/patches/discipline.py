"""Patches of ``philote_mdo.general.discipline``: declaring variables without a scan."""
