"""The patches of philote_mdo and the installer that puts them in and takes them out."""

from philote_fast.patches.installer import install, installed, uninstall
from philote_fast.patches.status import Row, Status, status

__all__ = ["Row", "Status", "install", "installed", "status", "uninstall"]
