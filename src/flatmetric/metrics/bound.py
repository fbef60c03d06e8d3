"""RMSE against the Cramer-Rao bound: how close a program comes to the best that photons and background allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.metrics.base import Reason, count, error, metric
from flatmetric.options.scoring import Imaging

_FEW = Reason("no matched molecule has photons", lambda s: s.bounds == 0)
_EXCESS = 2.0  # electron multiplication doubles the variance
_NODES = np.geomspace(
    1e-6, 100.0, 97
)  # background per photon times the squared width of a spot in pixels: the table's axis
_OFFSETS = np.linspace(0.0, 0.5, 6)  # places of a spot within its pixel, over which the information is averaged
_REACH = 5.0  # standard deviations of a spot that are summed up
_MOST_WIDTHS = 64  # with more of them, the nearest on a grid is taken


def precision_bound(
    photons: FloatArray, imaging: Imaging, *, sigma: FloatArray | float, background: FloatArray | float
) -> FloatArray:
    """The least variance along one axis, nm^2, that an unbiased estimate of a spot's place can have (Cramer-Rao).

    For a pixel-integrated Gaussian of width `sigma` (nm) over a flat `background` (photons per pixel), by the Fisher
    information of Poisson counts, averaged over places within a pixel. Infinite without photons.

    Examples
    --------
    >>> fine = Imaging(pixel_size=10.0, sigma=100.0, background=0.0)
    >>> float(precision_bound(np.array([400.0]), fine, sigma=100.0, background=0.0)[0].round(1))
    25.0
    """
    electrons = np.maximum(photons, 0.0) * imaging.quantum_efficiency
    widths = np.broadcast_to(np.asarray(sigma, dtype=np.float64) / imaging.pixel_size, electrons.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_photon = background * imaging.quantum_efficiency / electrons
    per_spot = per_photon * widths**2
    place, table = _tables(widths)
    information_at = np.empty(len(electrons))
    for at, information in enumerate(table):
        rows = place == at
        nodes = np.log(np.clip(per_spot[rows], _NODES[0], _NODES[-1]))
        information_at[rows] = np.exp(np.interp(nodes, np.log(_NODES), np.log(information)))
        # Beyond the last node the information falls with the background.
        information_at[rows] *= np.minimum(1.0, _NODES[-1] / np.maximum(per_spot[rows], _NODES[-1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = imaging.pixel_size**2 / (electrons * information_at)
    variance *= _EXCESS if imaging.em else 1.0
    return np.where(electrons > 0, variance, np.inf)


def _tables(widths: FloatArray) -> tuple[np.ndarray[Any, Any], list[FloatArray]]:
    """For each width (pixels) the number of its table, and tables of the information for each photon at `_NODES`."""
    distinct, place = np.unique(widths, return_inverse=True)
    if len(distinct) > _MOST_WIDTHS:
        grid = np.geomspace(distinct[0], distinct[-1], _MOST_WIDTHS)
        place = np.abs(np.log(widths)[:, None] - np.log(grid)).argmin(axis=1)
        distinct = grid
    return place.reshape(-1), [_information(float(width)) for width in distinct]


def _information(width: float) -> FloatArray:
    """Fisher information on a coordinate (pixels) for each photon, at the background nodes."""
    from scipy.special import ndtr

    reach = int(np.ceil(_REACH * width)) + 1
    edges = np.arange(-reach, reach + 2) - 0.5
    total = np.zeros(len(_NODES))
    for x in _OFFSETS:
        for y in _OFFSETS:
            away, aside = (edges - x) / width, (edges - y) / width
            density = np.exp(-(away**2) / 2) / (np.sqrt(2 * np.pi) * width)
            share = np.outer(np.diff(ndtr(aside)), np.diff(ndtr(away)))
            slope = np.outer(np.diff(ndtr(aside)), -np.diff(density))
            total += (slope**2 / (share + _NODES[:, None, None] / width**2)).sum(axis=(1, 2))
    return np.asarray(total / len(_OFFSETS) ** 2)


@dataclass(frozen=True, slots=True)
class BoundScore:
    """The lateral RMSE of matched molecules against the least that is possible, nm: a `ratio` of 1 is a perfect fit."""

    rmse_xy: float | None = error(
        "Cramer-Rao bound of the RMSE lateral",
        lambda s: np.sqrt(s.bound_square / s.bounds),
        _FEW,
        meaning="the Cramer-Rao bound: the least lateral RMSE that photons, background, pixel and spot width allow",
        equation="sqrt(mean of 2 x least variance along one axis)",
        better=None,
        line="bound",
        label="Cramer-Rao bound {} nm",
    )
    ratio: float | None = metric(
        "RMSE lateral / bound",
        lambda s: np.sqrt(s.bounded_square / s.bound_square),
        _FEW,
        meaning="how far the result is from the Cramer-Rao bound, over the pairs that have one",
        equation="RMSE lateral / bound",
        format=".3f",
        better="one",
        limits=(0.0, np.inf),
        line="bound",
        label="RMSE lateral / bound {} (1 is perfect)",
    )
    pairs: int = count(
        "matched molecules with a bound",
        lambda s: s.bounds,
        meaning="matched pairs whose bound is known",
        equation="count",
        shown=False,
    )
