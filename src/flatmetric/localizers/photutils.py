"""photutils: DAOFIND, alone or followed by PSF photometry."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.localizers.base import Setting, Settings, Spots, image_by_image, inside

SETTINGS = {
    "threshold": Setting(
        4.0, 0.01, 1e6, tuned=(1.5, 20.0), meaning="least height, in units of the noise after clipping"
    ),
    "fwhm": Setting(2.8, 0.5, 50.0, tuned=(1.2, 4.5), meaning="width of a spot at half its height, pixels"),
}
SETTINGS_PSF = {
    **SETTINGS,
    "box": Setting(5.0, 3.0, 63.0, odd=True, tuned=(3.0, 9.0), meaning="side of the fitted square, pixels"),
}


def localize(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with `DAOStarFinder`: its centroids and fluxes."""

    def find(image: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        background, finder = _finder(image, settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about images in which nothing is found
            table = finder(image - background)
        return _columns(table, ("x_centroid", "y_centroid", "flux"))

    return image_by_image(images, find)


def localize_psf(images: FloatArray, settings: Settings) -> Spots:
    """The same followed by `PSFPhotometry` with a round Gaussian of free width, integrated over pixels."""
    from photutils.psf import CircularGaussianPRF, PSFPhotometry

    def find(image: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        background, finder = _finder(image, settings)
        model = CircularGaussianPRF(fwhm=settings["fwhm"])
        model.fwhm.fixed = False
        photometry = PSFPhotometry(
            model, int(settings["box"]), finder=finder, aperture_radius=settings["fwhm"], progress_bar=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about images in which nothing is found, and single fits
            table = photometry(image - background)
        x, y, flux = _columns(table, ("x_fit", "y_fit", "flux_fit"))
        kept = inside(image, x, y) & (flux > 0)
        return x[kept], y[kept], flux[kept]

    return image_by_image(images, find)


def _finder(image: FloatArray, settings: Settings) -> tuple[float, Any]:
    from astropy.stats import sigma_clipped_stats
    from photutils.detection import DAOStarFinder

    _, background, noise = sigma_clipped_stats(image, sigma=3.0)
    return background, DAOStarFinder(threshold=settings["threshold"] * noise, fwhm=settings["fwhm"])


def _columns(table: Any, names: tuple[str, str, str]) -> tuple[FloatArray, FloatArray, FloatArray]:
    if table is None:
        return np.empty(0), np.empty(0), np.empty(0)
    x, y, flux = (np.asarray(table[name], dtype=np.float64) for name in names)
    return x, y, flux
