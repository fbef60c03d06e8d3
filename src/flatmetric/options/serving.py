"""How a challenge on the web is served."""

from __future__ import annotations

from flatmetric._dataclass import dataclass
from flatmetric.options.base import check_whole, option

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""


@dataclass(frozen=True, kw_only=True)
class WorkOptions:
    """The options of `work`."""

    database: str | None = option(
        None, "postgresql://USER@HOST/NAME; default: SQLite in the folder of the board.", metavar="URL"
    )


@dataclass(frozen=True, kw_only=True)
class ServeOptions(WorkOptions):
    """The options of `serve`."""

    host: str = option("127.0.0.1", "Address to listen on.", metavar="ADDRESS")
    port: int = option(8000, "Port to listen on; 0: any that is free.", metavar="N")
    url: str | None = option(
        None,
        "Address under which people reach the board, behind a proxy; default: that of host and port.",
        metavar="URL",
    )
    workers: int = option(1, "Scoring workers to start; 0: other machines have them.", metavar="N")

    def __post_init__(self) -> None:
        check_whole(self.workers, "workers", least=0)
        check_whole(self.port, "port", least=0)
