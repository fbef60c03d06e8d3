"""Picasso: spots by net gradient, fitted by least squares or maximum likelihood; depths by astigmatism."""

from __future__ import annotations

import contextlib
import functools
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.localizers.base import Setting, Settings, Spots, inside
from flatmetric.localizers.beads import PER_PLANE, bead_images, sharp_planes

if TYPE_CHECKING:
    from flatmetric.localizers.shapes import KnownShape

SETTINGS = {
    "min_net_gradient": Setting(400.0, 0.0, 1e9, tuned=(50.0, 6000.0), meaning="least net gradient of a spot, photons"),
    "box": Setting(7.0, 3.0, 63.0, odd=True, tuned=(5.0, 11.0), meaning="side of the fitted square, pixels"),
}
SETTINGS_3D = {
    **SETTINGS,
    "box": Setting(13.0, 3.0, 63.0, odd=True, tuned=(9.0, 19.0), meaning="side of the fitted square, pixels"),
}

_PHOTONS = {"Baseline": 0.0, "Sensitivity": 1.0, "Gain": 1.0, "Qe": 1.0}  # the images are in photons already
_INFO = {"Width": 1_000_000, "Height": 1_000_000, "Pixelsize": 100.0}  # it asks for them; the depth needs none


def localize_lq(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with Picasso, least squares."""
    return _localize(images, settings, mle=False)


def localize_mle(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with Picasso, maximum likelihood."""
    return _localize(images, settings, mle=True)


def localize_lq_3d(images: FloatArray, settings: Settings, shape: KnownShape | None = None) -> Spots:
    """Find spots and their depths with Picasso, least squares, calibrated with simulated beads."""
    return _localize(images, settings, mle=False, depth=_calibration(shape, int(settings["box"]), False))


def localize_mle_3d(images: FloatArray, settings: Settings, shape: KnownShape | None = None) -> Spots:
    """Find spots and their depths with Picasso, maximum likelihood, calibrated with simulated beads."""
    return _localize(images, settings, mle=True, depth=_calibration(shape, int(settings["box"]), True))


def _localize(images: FloatArray, settings: Settings, *, mle: bool, depth: _Depth | None = None) -> Spots:
    box = int(settings["box"])
    movie = images.astype(np.float32)
    with _quietly():
        from picasso import localize

        spots_at, _ = localize.identify(movie, settings["min_net_gradient"], box, threaded=False)
        if len(spots_at) == 0:
            none = np.empty(0)
            return Spots(np.empty(0, dtype=np.int64), none, none, none, None if depth is None else none)
        table = _fitted(movie, spots_at, box, mle)
        if depth is not None:
            table = depth.add_to(table)
    frame, x, y, photons = (np.asarray(table[name], dtype=np.float64) for name in ("frame", "x", "y", "photons"))
    z = None if depth is None else np.asarray(table["z"], dtype=np.float64)
    kept = inside(images, x, y) & (photons > 0)
    return Spots(frame[kept].astype(np.int64), x[kept], y[kept], photons[kept], None if z is None else z[kept])


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without its warnings: about sounds that it can't play, and about the future of packages that it uses."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _fitted(movie: Any, spots_at: Any, box: int, mle: bool) -> Any:
    """The table of elliptic Gaussians fitted to squares around spots."""
    from picasso import localize

    spots = localize.get_spots(movie, spots_at, box, _PHOTONS)
    return localize.locs_from_fits_gauss(spots_at, localize.fit_spots_gauss(spots, mle=mle), box, em=False, mle=mle)


class _Depth:
    """Picasso's calibration of depth by the widths of spots, and where its zero lies: it puts that where spots are
    round.
    """

    def __init__(self, calibration: dict[str, Any], mle: bool) -> None:
        self._calibration, self._mle, self.zero = calibration, mle, 0.0

    def add_to(self, table: Any) -> Any:
        """The table with a column z, nm; spots whose widths fit no depth are left out."""
        from picasso import zfit

        method = "gaussmle" if self._mle else "gausslq"
        info = [{**_INFO, "Frames": int(table["frame"].max()) + 1}]
        fitted, _ = zfit.zfit(table, info, calibration=self._calibration, fitting_method=method)
        fitted["z"] += self.zero
        return fitted


@functools.lru_cache(maxsize=8)
def _calibration(shape: KnownShape | None, box: int, mle: bool) -> _Depth:
    with _quietly():
        return _calibrated(shape, box, mle)


def _calibrated(shape: KnownShape | None, box: int, mle: bool) -> _Depth:
    import matplotlib
    import pandas as pd
    from matplotlib import pyplot
    from picasso import zfit

    depths, images = bead_images(shape, "picasso")
    middle = np.full(len(images), images.shape[1] // 2)
    spots_at = pd.DataFrame({"frame": np.arange(len(images)), "x": middle, "y": middle, "net_gradient": 1.0})
    table = _fitted(images.astype(np.float32), spots_at, box, mle)
    sharp = sharp_planes(table["sx"].to_numpy(), table["sy"].to_numpy(), "picasso")
    depths, table = depths[sharp], table[sharp].assign(frame=np.arange(sharp.sum()))
    with matplotlib.rc_context({"backend": "agg"}):  # it draws its curves
        calibration = zfit.calibrate_z(
            table,
            [{**_INFO, "Frames": len(table)}],
            float(depths[0] - depths[PER_PLANE]),
            1.0,
            frames_per_step=PER_PLANE,
        )
        pyplot.close()
    made = _Depth(calibration, mle)
    again = made.add_to(table)
    made.zero = float(np.median(depths[again["frame"].to_numpy()] - again["z"].to_numpy()))
    return made
