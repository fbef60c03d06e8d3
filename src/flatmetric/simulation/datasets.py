"""The data sets that can be simulated: those of the SMLM 2016 Challenge by name, and custom ones from a TOML file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric._files import read_toml
from flatmetric.errors import InputError
from flatmetric.simulation.blinking import Photophysics
from flatmetric.simulation.camera import Camera
from flatmetric.simulation.optics import KINDS, Optics
from flatmetric.simulation.pupil import Pupil
from flatmetric.simulation.scene import Scene
from flatmetric.simulation.structures import STRUCTURES

MODALITIES: Mapping[str, Pupil] = {
    "2D": Pupil(),
    "AS": Pupil(
        focus=70.0,
        astigmatism=-0.56,
        spherical=-0.43,
        blur=126.0,
        wobble_x=(23.0, 22.0),
        wobble_y=(-38.0, -24.0, -77.0),
        light=1.35,
    ),
    "DH": Pupil(helix=4, blur=120.0),
    "BP": Pupil(planes=(-250.0, 250.0)),
}
"""The challenge's ways to see depth: none, astigmatism, a double helix, two planes.

Astigmatism was fitted to images of the challenge's training set, the double helix to its beads.
"""
PLACES = "places"
"""The structure of a data set whose molecules lie at places of its scene."""
_MOST_MOLECULES_PER_FRAME = 100_000  # a frame then takes seconds; more is surely a typo
_LEAST_WIDTH_NM, _MOST_WIDTH_NM = 500.0, 1e6


def pupil_of(modality: str) -> Pupil:
    """The optics of a modality.

    Examples
    --------
    >>> pupil_of("BP").planes
    (-250.0, 250.0)
    """
    if modality not in MODALITIES:
        raise InputError(f"modality is {modality!r}; give one of {', '.join(MODALITIES)}")
    return MODALITIES[modality]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What defines a data set, except its seed. Lengths in nm, times in frames, `density` in shining molecules per um2.

    `photons` is the number that a molecule in the middle of the field sends to the camera in a whole frame. Towards the
    edges of the field it is less, by the profile of a `beam` of this radius (0: the same everywhere). Molecules differ
    by a log-normal factor of mean 1 and spread `photons_spread`. `background` is in photons per pixel and frame.

    The field has `pixels` columns and as many rows, or `rows`. What is taken from a movie is in `scene`; the structure
    is "places" where molecules are at the places of the scene.
    """

    name: str
    structure: str
    frames: int
    density: float
    photons: float
    background: float
    photons_spread: float = 0.0
    beam: float = 2900.0
    pixels: int = 64
    rows: int = 0
    pixel_size: float = 100.0
    depth: float = 1300.0
    photophysics: Photophysics = field(default_factory=Photophysics)
    optics: Optics = field(default_factory=Pupil)
    camera: Camera = field(default_factory=Camera)
    scene: Scene = field(default_factory=Scene)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", self.name):
            raise InputError(f"name is {self.name!r}; give letters, digits, dots, dashes: it names a folder")
        if self.structure not in (*STRUCTURES, PLACES):
            raise InputError(f"structure is {self.structure!r}; give one of {', '.join((*STRUCTURES, PLACES))}")
        if (self.structure == PLACES) != bool(self.scene.places):
            raise InputError(f"structure is {self.structure!r}; {PLACES!r} goes with a file of places in the scene")
        for name, least, most in (("frames", 1, 10_000_000), ("pixels", 8, 2048), ("rows", 8, 2048)):
            value = getattr(self, name)
            if name == "rows" and value == 0:
                continue
            if not isinstance(value, int) or not least <= value <= most:
                raise InputError(f"{name} is {value}; give a whole number from {least} to {most}")
        for name, positive in (("density", True), ("photons", True), ("pixel_size", True), ("depth", False)):
            self._check_number(name, positive)
        for name in ("background", "photons_spread", "beam"):
            self._check_number(name, False)
        for size in (self.width, self.height):
            if not _LEAST_WIDTH_NM <= size <= _MOST_WIDTH_NM:
                limits = f"{_LEAST_WIDTH_NM:g} to {_MOST_WIDTH_NM:g} nm"
                raise InputError(f"pixels x pixel_size is {size:g} nm; give a field of {limits}")
        if isinstance(self.optics, Pupil) and self.pixel_size > self.optics.largest_pixel:
            raise InputError(
                f"pixel_size is {self.pixel_size:g}; give at most {self.optics.largest_pixel:.0f} nm for this pupil, "
                "or Gaussian optics"
            )
        if self.per_frame > _MOST_MOLECULES_PER_FRAME:
            raise InputError(f"density is {self.density:g}: {self.per_frame:.0f} molecules in a frame; give less")

    def _check_number(self, name: str, positive: bool) -> None:
        value = getattr(self, name)
        if not isinstance(value, (int, float)) or not (0 < value < 1e9 or (value == 0 and not positive)):
            raise InputError(f"{name} is {value}; give a number {'above 0' if positive else 'from 0'} and below 1e9")

    @property
    def width(self) -> float:
        """The field along x, nm."""
        return self.pixels * self.pixel_size

    @property
    def height(self) -> float:
        """The field along y, nm."""
        return (self.rows or self.pixels) * self.pixel_size

    @property
    def per_frame(self) -> float:
        """Shining molecules in a frame, on average."""
        return self.density * self.width * self.height / 1e6

    def with_modality(self, modality: str) -> Dataset:
        """The same data set with a round (2D) or an astigmatic spot (AS), a double helix (DH) or two planes (BP).

        Examples
        --------
        >>> named("MT3.N2.LD").with_modality("DH").optics.helix
        4
        """
        return dataclasses.replace(self, optics=pupil_of(modality))

    def with_frames(self, frames: int) -> Dataset:
        """The same data set with another number of frames.

        Examples
        --------
        >>> named("MT3.N2.LD").with_frames(100).frames
        100
        """
        return dataclasses.replace(self, frames=frames)

    def replicates(self, count: int) -> list[Dataset]:
        """Data sets of this kind, each with a structure of its own: itself if there is one, else named -r1, -r2, ...

        Examples
        --------
        >>> [dataset.name for dataset in named("MT3.N2.LD").replicates(2)]
        ['MT3.N2.LD-r1', 'MT3.N2.LD-r2']
        """
        if not 1 <= count <= 1000:
            raise InputError(f"replicates is {count}; give a whole number from 1 to 1000")
        if count == 1:
            return [self]
        return [dataclasses.replace(self, name=f"{self.name}-r{number}") for number in range(1, count + 1)]


# N1 and the densities were measured on the truth and the images of the training sets. The photons and background of N2
# and N3 are our choice, a half and a fifth: the challenge gives no numbers for them.
_NOISE = {"N1": (10_500.0, 100.0), "N2": (5250.0, 50.0), "N3": (2100.0, 20.0)}
_DENSITY = {"LD": 0.0304, "HD": 0.309}
_STRUCTURE = {"MT": "microtubules", "ER": "endoplasmic_reticulum"}
_FRAMES = {
    "MT0.N1.LD": 20_000,
    "MT0.N1.HD": 2500,
    "MT1.N1.LD": 20_000,
    "MT2.N1.HD": 3125,
    "MT3.N2.LD": 20_120,
    "MT4.N2.HD": 3020,
    "ER1.N3.LD": 19_620,
    "ER2.N3.HD": 3020,
}
NAMES = tuple(_FRAMES)
"""The data sets of the challenge: two for training, MT0, and six that were ranked."""
PAPER = ("ER1.N3.LD", "ER2.N3.HD", "MT3.N2.LD", "MT4.N2.HD")
"""The four data sets of the paper's comparison with the challenge's participants."""


def named(name: str) -> Dataset:
    """One of the challenge's data sets, or the one in a TOML file of that name.

    Examples
    --------
    >>> named("ER2.N3.HD").frames, named("ER2.N3.HD").density
    (3020, 0.309)
    """
    if name in _FRAMES:
        sample, noise, density = name.split(".")
        photons, background = _NOISE[noise]
        return Dataset(
            name=name,
            structure=_STRUCTURE[sample[:2]],
            frames=_FRAMES[name],
            density=_DENSITY[density],
            photons=photons,
            background=background,
        )
    if name.endswith(".toml"):
        return _from_file(Path(name))
    raise InputError(f"dataset is {name!r}; give one of {', '.join(NAMES)}, or a .toml file")


def _from_file(path: Path) -> Dataset:
    content = read_toml(path)
    content.setdefault("name", path.stem)
    parts: dict[str, type] = {"photophysics": Photophysics, "camera": Camera, "scene": Scene}
    if isinstance(content.get("scene"), dict):
        for name in ("places", "background", "readout"):
            if isinstance(content["scene"].get(name), str):
                content["scene"][name] = str(path.parent / content["scene"][name])
    if "optics" in content:
        content["optics"] = optics_from(content["optics"], f"{path}: [optics]", path.parent)
    for part, built_as in parts.items():
        if part in content:
            content[part] = _built(built_as, content[part], f"{path}: [{part}]")
    built: Dataset = _built(Dataset, content, str(path))
    return built


def optics_from(content: Any, where: str, folder: Path = Path()) -> Optics:
    """Optics from the table of a file; `where` begins the sentence if something is wrong with it.

    A bead stack is looked for in `folder`.
    """
    if not isinstance(content, dict):
        raise InputError(f"{where}: is {content!r}; make it a table")
    values = dict(content)
    if isinstance(values.get("file"), str):
        values["file"] = str(folder / values["file"])
    kind = values.pop("kind", "pupil")
    if kind not in KINDS:
        raise InputError(f"{where}: kind is {kind!r}; give one of {', '.join(KINDS)}")
    built: Optics = _built(KINDS[kind], values, where)
    return built


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"),
    "int": ((int,), "a whole number"),
    "bool": ((bool,), "true or false"),
    "float": ((int, float), "a number"),
    "tuple[float, ...]": ((tuple,), "numbers in brackets"),
}


def _built(kind: type, content: Any, where: str) -> Any:
    """A dataclass from a table of the file; missing and unknown names are errors."""
    if not isinstance(content, dict):
        raise InputError(f"{where}: is {content!r}; make it a table")
    fields = {f.name: f for f in dataclasses.fields(kind)}
    for name, value in list(content.items()):
        if name not in fields:
            raise InputError(f"{where}: has {name!r}, which is not known; it may have {', '.join(fields)}")
        if isinstance(value, list) and all(type(one) in (int, float) for one in value):
            value = content[name] = tuple(map(float, value))
        kind_of = _KINDS.get(str(fields[name].type))
        if kind_of is not None and (
            isinstance(value, bool) != (kind_of[0] == (bool,)) or not isinstance(value, kind_of[0])
        ):
            raise InputError(f"{where}: {name} is {value!r}; give {kind_of[1]}")
    needed = dataclasses.MISSING
    missing = [n for n, f in fields.items() if n not in content and f.default is needed and f.default_factory is needed]
    if missing:
        raise InputError(f"{where}: lacks {', '.join(missing)}")
    try:
        return kind(**content)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
