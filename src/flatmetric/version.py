"""The version, written here so that to know it costs nothing."""

__version__ = "0.1.0"
