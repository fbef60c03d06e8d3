"""The rules of a comparison: what is compared, what counts as a match, what is left out."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric._files import open_ordinary, read_toml
from flatmetric.errors import InputError
from flatmetric.options.base import Option, as_given, numbers, option

Matching = Literal["greedy", "optimal"]


@dataclass(frozen=True, eq=False)
class Wobble:
    """A table of lateral shifts by depth, nm: `dx`, `dy` are added to true molecules whose z is nearest to `z`.

    Examples
    --------
    >>> Wobble(dx=np.array([1.0]), dy=np.array([0.0]), z=np.array([0.0])).shifts(np.array([5.0]))[0]
    array([1.])
    """

    dx: FloatArray
    dy: FloatArray
    z: FloatArray

    def __post_init__(self) -> None:
        if len(self.z) == 0 or not len(self.dx) == len(self.dy) == len(self.z):
            raise InputError("the wobble table needs the same number of dx, dy and z, at least one")
        if not all(np.isfinite(column).all() for column in (self.dx, self.dy, self.z)):
            raise InputError("the wobble table holds a number that is not finite")

    def shifts(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The shifts in x and y at the depths `z`, nm: the entry nearest in depth, the first on ties.

        Examples
        --------
        >>> Wobble(dx=np.array([1.0, 2.0]), dy=np.zeros(2), z=np.array([0.0, 10.0])).shifts(np.array([5.0, 6.0]))[0]
        array([1., 2.])
        """
        order = np.argsort(self.z, kind="stable")
        depths = self.z[order]
        above = np.searchsorted(depths, z)
        below = np.clip(above - 1, 0, None)
        above = np.clip(above, None, len(depths) - 1)
        down, up = np.abs(z - depths[below]), np.abs(depths[above] - z)
        # Ties, whether at one depth or equally near, go to the first entry in the table.
        first = np.searchsorted(depths, depths)
        low, high = order[first[below]], order[first[above]]
        row = np.where((down < up) | ((down == up) & (low <= high)), low, high)
        return self.dx[row], self.dy[row]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The rules of a comparison. Lengths in nm.

    Parameters
    ----------
    dim
        2 or 3; None: 3 where both tables have depths that are not all 0, else 2.
    tolerance, tolerance_z
        How far a detection may be from its molecule, laterally and (in 3D) axially, both included.
    matching
        "greedy", the nearest pair first, as in the challenge; or "optimal", as many pairs as possible with the
        smallest sum of distances.
    border, fov
        Rows nearer than `border` to the edge of the field of view are left out on both sides: only
        border < x < width - border is kept, likewise y. None keeps everything.
    photon_threshold, photon_quantile
        True molecules with at most this many photons don't count, nor do the detections matched to them. The quantile
        is that of the molecules within the border (Hazen's rule), rounded down to a whole number.
    wobble
        Lateral shifts by depth that are added to the truth before anything else.
    first_frame, last_frame
        First and last frame to compare, both included; None for no limit.
    name
        The name of the rules in the output.
    fov_given
        Whether `fov` was given for these data, so that no file may correct it.

    Examples
    --------
    >>> Protocol().tolerance, Protocol.preset("challenge2016").border
    (250.0, 450.0)
    """

    SECTION: ClassVar[str] = "Rules"
    START: ClassVar[tuple[str, Option]] = (
        "protocol",
        Option(
            "Rules to start from: challenge2016, or a TOML file",
            metavar="NAME|FILE",
            accepts="str | os.PathLike[str] | Protocol | None",
        ),
    )

    WITHOUT_START: ClassVar[str] = "no border and no photon threshold"

    dim: int | None = option(None, "Score in 2 or 3 dimensions; default: 3 where both files have depths.", metavar="N")
    tolerance: float = option(250.0, "Largest lateral distance of a match, nm.", metavar="NM")
    tolerance_z: float = option(500.0, "Largest axial distance of a match, nm.", metavar="NM")
    matching: Matching = option(
        "greedy", "Which pairs match: greedy (nearest first) or optimal.", metavar="NAME", accepts="str | None"
    )
    border: float | None = option(
        None, "Width of the border that is left out on every side, nm; needs the size of the field.", metavar="NM"
    )
    fov: tuple[float, float] | None = option(
        None,
        "Size of the field of view, nm; two numbers if x and y differ; default: that of the protocol or the file.",
        metavar="NM[,NM]",
        parse=numbers("fov"),
        accepts="float | Sequence[float] | None",
    )
    photon_threshold: float | None = option(
        None, "Leave out molecules with at most this many photons.", metavar="PHOTONS"
    )
    photon_quantile: float | None = option(
        None, "Leave out this fraction of the molecules, the dimmest, 0 to 1.", metavar="FRACTION"
    )
    wobble: Wobble | None = option(
        None,
        "CSV file with columns dx, dy, z in nm: shifts added to the truth.",
        metavar="FILE",
        accepts="str | os.PathLike[str] | Wobble | None",
    )
    first_frame: int | None = option(None, "First frame to compare.", metavar="N")
    last_frame: int | None = option(None, "Last frame to compare.", metavar="N")
    name: str = "default"
    fov_given: bool = False

    def __post_init__(self) -> None:
        for field in ("first_frame", "last_frame"):
            frame = getattr(self, field)
            if frame is not None and (isinstance(frame, bool) or not isinstance(frame, (int, np.integer))):
                raise InputError(f"{field} is {frame!r}; give a frame number")
        if not isinstance(self.name, str):
            raise InputError(f"name is {self.name!r}; give a string")
        if self.wobble is not None and not isinstance(self.wobble, Wobble):
            raise InputError(f"wobble is {self.wobble!r:.40}; give a Wobble, as returned by read_wobble")
        if self.dim not in (None, 2, 3) or isinstance(self.dim, float):
            raise InputError(f"dim is {self.dim!r}; give 2 or 3")
        for field in ("tolerance", "tolerance_z"):
            value = _number(getattr(self, field), field)
            if not 0 < value < math.inf:
                raise InputError(f"{field} is {value:g}; give a positive length in nm")
        if self.matching not in ("greedy", "optimal"):
            raise InputError(f"matching is {self.matching!r}; give greedy or optimal")
        self._check_border()
        if self.photon_threshold is not None and self.photon_quantile is not None:
            raise InputError("photon_threshold and photon_quantile are both given; give one")
        if self.photon_threshold is not None and not math.isfinite(_number(self.photon_threshold, "photon_threshold")):
            raise InputError(f"photon_threshold is {self.photon_threshold}; give a number of photons")
        if self.photon_quantile is not None and not 0 <= _number(self.photon_quantile, "photon_quantile") <= 1:
            raise InputError(f"photon_quantile is {self.photon_quantile:g}; give a fraction from 0 to 1")
        first, last = self.first_frame, self.last_frame
        if first is not None and last is not None and first > last:
            raise InputError(f"first_frame {first} comes after last_frame {last}")

    def _check_border(self) -> None:
        if self.fov is not None and not (
            isinstance(self.fov, (tuple, list))
            and len(self.fov) == 2
            and all(0 < _number(size, "fov") < math.inf for size in self.fov)
        ):
            raise InputError(f"fov is {as_given(self.fov)}; give the positive width and height of the field in nm")
        if self.border is None:
            return
        _number(self.border, "border")
        if self.fov is None:
            raise InputError(f"border is {self.border:g} but the size of the field is not known; give fov= in nm")
        if not 0 <= _number(self.border, "border") < min(self.fov) / 2:
            raise InputError(
                f"border is {self.border:g}; give a length from 0 to half the field of {min(self.fov):g} nm"
            )

    @classmethod
    def preset(cls, name: str) -> Protocol:
        """Rules by name: "challenge2016" are those of the SMLM 2016 Challenge without a photon quantile.

        Examples
        --------
        >>> Protocol.preset("challenge2016").fov
        (6400.0, 6400.0)
        """
        if name == "default":
            return cls()
        if name == "challenge2016":
            return cls(border=450.0, fov=(6400.0, 6400.0), photon_threshold=0.0, name="challenge2016")
        raise InputError(f"there is no protocol {name!r}; give challenge2016, or a file that ends in .toml")

    @classmethod
    def from_keywords(cls, protocol: Any = None, **rules: Any) -> Protocol:
        """The rules to start from (a name, a TOML file or a Protocol), overridden by those rules that are not None.

        Examples
        --------
        >>> Protocol.from_keywords("challenge2016", tolerance=100).tolerance
        100
        """
        start = protocol
        if start is None:
            start = cls()
        elif isinstance(start, (str, os.PathLike)):
            text = str(os.fspath(start))
            start = cls.from_toml(text) if text.endswith(".toml") else cls.preset(text)
        elif not isinstance(start, cls):
            raise InputError(f"protocol is {start!r:.60}; give challenge2016, a TOML file or a Protocol")
        changes = {name: value for name, value in rules.items() if value is not None}
        if "fov" in changes:
            changes |= {"fov": field_of_view(changes["fov"]), "fov_given": True}
        wobble = changes.get("wobble")
        if wobble is not None and not isinstance(wobble, Wobble):
            if not isinstance(wobble, (str, os.PathLike)):
                raise InputError(f"wobble is {wobble!r:.40}; give a CSV file, or a Wobble")
            changes["wobble"] = read_wobble(Path(wobble))
        return start.changed(**changes)

    @classmethod
    def from_toml(cls, path: str | Path) -> Protocol:
        r"""Rules from a TOML file whose keys are the parameters of this class; `preset` names rules to start from,
        `wobble` a CSV file with the columns dx, dy, z.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "p.toml"
        >>> _ = path.write_text('preset = "challenge2016"\nborder = 300.0')
        >>> Protocol.from_toml(path).border
        300.0
        """
        path = Path(path)
        content = read_toml(path)
        known = {field.name for field in dataclasses.fields(cls)} - {"fov_given"}
        for key in content:
            if key not in known and key != "preset":
                raise InputError(f"{path}: {key!r} is not a rule; use preset, {', '.join(sorted(known))}")
        try:
            start = cls.preset(str(content.pop("preset", "default")))
            if "wobble" in content:
                content["wobble"] = read_wobble(path.parent / str(content["wobble"]))
            if "fov" in content:
                content["fov"] = field_of_view(content["fov"])
            return start.changed(**{"name": path.stem, **content})
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def changed(self, **rules: Any) -> Protocol:
        """The same rules with some of them changed; one kind of photon threshold replaces the other.

        Examples
        --------
        >>> Protocol.preset("challenge2016").changed(photon_quantile=0.25).photon_threshold is None
        True
        """
        for given, other in (("photon_quantile", "photon_threshold"), ("photon_threshold", "photon_quantile")):
            if given in rules and other not in rules:
                rules |= {other: None}
                break
        return dataclasses.replace(self, **rules)

    def to_dict(self) -> dict[str, Any]:
        """The rules as plain values, for the output.

        Examples
        --------
        >>> Protocol().to_dict()["matching"]
        'greedy'
        """
        left_out = ("wobble", "fov_given")
        rules = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name not in left_out
        }
        rules["fov"] = None if self.fov is None else list(self.fov)
        return rules | {"wobble": self.wobble is not None}


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise InputError(f"{name} is {value!r}; give a number")
    try:
        return float(value)
    except OverflowError as error:
        raise InputError(f"{name} has more than 300 digits; give a smaller number") from error


def field_of_view(value: Any) -> tuple[float, float]:
    """Width and height of the field in nm from one or two numbers.

    Examples
    --------
    >>> field_of_view(6400)
    (6400.0, 6400.0)
    """
    sizes = list(value) if isinstance(value, (list, tuple)) else [value]
    if len(sizes) not in (1, 2):
        raise InputError(f"fov is {as_given(value)}; give one size in nm, or two for x and y")
    numbers = [_number(size, "fov") for size in sizes]
    return numbers[0], numbers[-1]


_LARGEST_WOBBLE = 1 << 24  # bytes; real ones have a few kB


def read_wobble(path: Path) -> Wobble:
    """A wobble table from a CSV file with the columns dx, dy, z in nm, with or without a header."""
    try:
        with open_ordinary(path, _LARGEST_WOBBLE) as file:
            lines = file.read().decode("utf-8-sig").replace(";", ",").replace("\t", ",").splitlines()
    except OSError as error:
        raise InputError(f"{path}: can't be read, {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not a text table of dx, dy, z") from error
    rows: list[list[float]] = []
    order = [0, 1, 2]  # of dx, dy, z in a row
    for number, line in enumerate(lines, 1):
        cells = [cell.strip().strip('"').lower() for cell in line.split(",")]
        if not any(cells) or line.startswith("#"):
            continue
        if not rows and {"dx", "dy", "z"} <= set(cells):
            order = [cells.index(name) for name in ("dx", "dy", "z")]
            continue
        try:
            row = [float(cell) for cell in cells]
        except ValueError as error:
            raise InputError(f"{path}: row {number} of the wobble table is {line!r:.60}; give dx,dy,z in nm") from error
        if len(row) < 3 or not all(map(math.isfinite, row)):
            raise InputError(f"{path}: row {number} of the wobble table is {line!r:.60}; give dx,dy,z in nm")
        rows.append([row[k] for k in order])
    table = np.array(rows).reshape(-1, 3)
    try:
        return Wobble(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
