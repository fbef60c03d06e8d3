"""The command line. Only this layer prints."""

from flatmetric.cli.app import main

__all__ = ["main"]
