"""Tests of flatmetric.torch."""
