"""How much each row weighs in the Flat Metric, and what is left of it after transport."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.options.scoring import Weights

NO_PHOTONS = "the true photons add up to 0; use uniform weights"
_ROUNDING = 1e-9  # relative to the mass: a smaller remainder is rounding error


def masses(truth: Localizations, pred: Localizations, weights: Weights) -> dict[str, Any]:
    """The weight arguments of `flat_metric`: none, or photons as fractions of all true photons.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 1.0], y=[0.0, 0.0], photons=[100, 300])
    >>> masses(t, t, "photons")["truth_weights"].tolist()
    [0.25, 0.75]
    """
    if weights == "uniform":
        return {}
    true, pred_photons = _photon_mass(truth, "truth"), _photon_mass(pred, "pred")
    if true.sum() <= 0:
        raise InputError(NO_PHOTONS)
    return {"truth_weights": true / true.sum(), "pred_weights": pred_photons / true.sum()}


def _photon_mass(table: Localizations, side: str) -> FloatArray:
    name = table.provenance.file or side
    if table.photons is None:
        raise InputError(f"{name}: it has no photons to weigh by; use uniform weights")
    if len(table) and table.photons.min() < 0:
        raise InputError(
            f"{name}: a row has {table.photons.min():g} photons, which can't be a weight; use uniform weights"
        )
    return table.photons


def left_over(mass: FloatArray, gone: FloatArray) -> FloatArray:
    """The mass that was not moved, 0 where only rounding is left.

    Examples
    --------
    >>> left_over(np.array([0.5, 0.5]), np.array([0.5, 0.2])).tolist()
    [0.0, 0.3]
    """
    left = mass - gone
    return np.where(left > _ROUNDING * mass, left, 0.0)
