"""Picasso: spots by net gradient, fitted by least squares or maximum likelihood."""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.localizers.base import Setting, Settings, Spots, inside

SETTINGS = {
    "min_net_gradient": Setting(400.0, 0.0, 1e9),  # photons
    "box": Setting(7.0, 3.0, 63.0, odd=True),  # side of the fitted square, pixels
}

_PHOTONS = {"Baseline": 0.0, "Sensitivity": 1.0, "Gain": 1.0, "Qe": 1.0}  # the images are in photons already


def localize_lq(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with Picasso, least squares."""
    return _localize(images, settings, "gausslq")


def localize_mle(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with Picasso, maximum likelihood."""
    return _localize(images, settings, "gaussmle")


def _localize(images: FloatArray, settings: Settings, method: str) -> Spots:
    from picasso import gausslq, gaussmle, localize

    box = int(settings["box"])
    movie = images.astype(np.float32)
    spots_at = localize.identify(movie, settings["min_net_gradient"], box, threaded=False, return_info=False)
    if len(spots_at) == 0:
        none = np.empty(0)
        return Spots(np.empty(0, dtype=np.int64), none, none, none)
    spots = localize.get_spots(movie, spots_at, box, _PHOTONS)
    if method == "gausslq":
        table = gausslq.locs_from_fits(spots_at, gausslq.fit_spots(spots), box, False)
    else:
        table = gaussmle.locs_from_fits(spots_at, *gaussmle.gaussmle(spots, 0.001, 100), box)
    x, y, photons = (np.asarray(table[name], dtype=np.float64) for name in ("x", "y", "photons"))
    kept = inside(images, x, y) & (photons > 0)
    return Spots(np.asarray(table["frame"], dtype=np.int64)[kept], x[kept], y[kept], photons[kept])
