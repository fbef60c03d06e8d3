"""Types that the signatures of several public functions share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from flatmetric.localizations import Localizations

Source = str | os.PathLike[str] | Localizations | Mapping[str, Any] | Any
"""A file, a table of ours, a pandas, polars or Arrow table, or a dict of arrays."""
