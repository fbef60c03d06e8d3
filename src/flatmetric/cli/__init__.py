"""The command line. Only this layer prints."""

from flatmetric.cli.app import main, run

__all__ = ["main", "run"]
