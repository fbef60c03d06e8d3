"""File formats: one module for each, one registry, one way in and one way out."""
