"""File formats: one module for each, one registry, one way in."""

from flatmetric.formats.reading import read

__all__ = ["read"]
