"""Progress reports: a callback through which the library tells the caller how far it has got."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the name of the task, how much of it is done, and the total."""
