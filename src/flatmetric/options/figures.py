"""How the figures of the paper look."""

from __future__ import annotations

from typing import ClassVar, Literal

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.options.base import option

Style = Literal["own", "paper"]


@dataclass(frozen=True, slots=True)
class FigureStyle:
    """Our style, in which the better is above and colours keep their order in grey; or the axes, directions and colours
    that are printed in the paper.

    Examples
    --------
    >>> FigureStyle("paper").as_printed
    True
    """

    SECTION: ClassVar[str] = "Figures"

    style: Style = option(
        "own",
        "Look of the figures: own, or paper for axes and colours as printed there.",
        metavar="NAME",
        accepts="str",
    )

    def __post_init__(self) -> None:
        if self.style not in ("own", "paper"):
            raise InputError(f"style is {self.style!r}; give own or paper")

    @property
    def as_printed(self) -> bool:
        """Whether axes and colours are those of the paper."""
        return self.style == "paper"
