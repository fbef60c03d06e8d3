"""Rendered images compared: signal-to-noise ratio and Fourier ring correlation, as the challenge defined them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.matching.matched import select_rows
from flatmetric.metrics.base import IN_2D, Measure, Rows, error, metric

VOXEL = 10.0  # nm
SIGMA = 20.0 / (2 * math.sqrt(2 * math.log(2)))  # nm: a width of 20 nm at half height
DEPTH = 1500.0  # nm, half of it on either side of the focal plane
FRC_THRESHOLD = 1 / 7  # the usual threshold of Fourier ring correlation (Banterle et al. 2013)
_REACH = math.ceil(3 * SIGMA / VOXEL)  # voxels
_SLAB = 16  # planes rendered at a time
_VIEWS = {
    "xyz": "the volume",
    "xy": "the image seen along z",
    "xz": "the image seen along y",
    "yz": "the image seen along x",
}


def _snr(view: str, title: str, **more: Any) -> Any:
    return metric(
        title,
        meaning=f"how well {_VIEWS[view]}, rendered with spots of 20 nm full width at half maximum, agrees with that "
        "of the truth",
        equation="10 log10(sum of truth^2 / sum of (truth - result)^2)",
        unit="dB",
        better="higher",
        shown=False,
        **more,
    )


def _frc(view: str, **more: Any) -> Any:
    return error(
        f"FRC resolution {view}",
        meaning=f"length down to which {_VIEWS[view]} agrees with that of the truth",
        equation="where the Fourier ring correlation falls to 1/7",
        format=".1f",
        shown=False,
        **more,
    )


@dataclass(frozen=True, slots=True)
class ImageScore:
    """SNR in dB of the volume and of its projections, and the FRC resolution of the projections in nm."""

    snr_xyz: float | None = _snr("xyz", "SNR of the volume")
    snr_xy: float | None = _snr("xy", "SNR of the image xy", line="images", label="SNR {} dB")
    snr_xz: float | None = _snr("xz", "SNR of the image xz")
    snr_yz: float | None = _snr("yz", "SNR of the image yz")
    frc_xy: float | None = _frc("xy", line="images", label="FRC {} nm (xy)")
    frc_xz: float | None = _frc("xz")
    frc_yz: float | None = _frc("yz")


def measure_images(rows: Rows) -> dict[str, Measure]:
    """Compare rendered images, as in the challenge: within the border, but without the photon threshold."""
    matched = rows.matched
    assert rows.fov is not None
    tables = select_rows(matched.truth, matched.truth_rows), select_rows(matched.pred, matched.pred_rows)
    return image_score(*tables, fov=rows.fov, dim=matched.dim)


def snr(reference: FloatArray, estimate: FloatArray) -> Measure:
    """10 log10(sum reference^2 / sum (reference - estimate)^2), in dB, or why there is no such number.

    Examples
    --------
    >>> round(snr(np.array([3.0, 4.0]), np.array([3.0, 4.5])), 6)
    20.0
    """
    return _decibel(float((reference**2).sum()), float(((reference - estimate) ** 2).sum()))


def _decibel(signal: float, noise: float) -> Measure:
    if signal == 0:
        return "the rendered truth is empty"
    if noise == 0:
        return "the images are equal, so the ratio is infinite"
    return 10 * math.log10(signal / noise)


def render(coordinates: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """An image of `shape` voxels of 10 nm: the sum of Gaussians of height 1 and width 20 nm at the (n, D) places, nm.

    The Gaussian is evaluated at voxel centres and truncated three sigma (rounded up to voxels) from the voxel that
    contains the point. Points outside the image are left out.

    Examples
    --------
    >>> image = render(np.array([[25.0, 35.0]]), (6, 7))
    >>> image.shape, float(image[2, 3])
    ((6, 7), 1.0)
    """
    image = np.zeros(math.prod(shape))
    size = np.array(shape) * VOXEL
    inside = ((coordinates >= 0) & (coordinates <= size)).all(axis=1)
    points = coordinates[inside]
    # A point on a boundary belongs to the lower voxel.
    voxel = np.maximum(np.ceil(points / VOXEL).astype(np.int64) - 1, 0)
    _add(image, points, voxel, shape)
    return image.reshape(shape)


def _add(image: FloatArray, points: FloatArray, voxel: npt.NDArray[np.int64], shape: tuple[int, ...]) -> None:
    offsets = np.arange(-_REACH, _REACH + 1)
    profiles = []
    places = []
    for axis in range(len(shape)):
        at = voxel[:, axis, None] + offsets
        away = (at + 0.5) * VOXEL - points[:, axis, None]
        profiles.append(np.where((at >= 0) & (at < shape[axis]), np.exp(-(away**2) / (2 * SIGMA**2)), 0.0))
        places.append(np.clip(at, 0, shape[axis] - 1))
    # One shift of the kernel at a time, for all points at once.
    for shifts in np.ndindex(*(len(offsets),) * len(shape)):
        weight = np.ones(len(points))
        flat = np.zeros(len(points), dtype=np.int64)
        for axis, shift in enumerate(shifts):
            weight *= profiles[axis][:, shift]
            flat = flat * shape[axis] + places[axis][:, shift]
        np.add.at(image, flat, weight)


def frc(reference: FloatArray, estimate: FloatArray) -> Measure:
    """Resolution in nm at which the Fourier ring correlation of two images falls to 1/7.

    The curve is smoothed by local lines over a twentieth of its rings (at least five). Without a crossing it is
    that of the voxels, 20 nm.

    Examples
    --------
    >>> image = render(np.array([[255.0, 355.0]]), (64, 64))
    >>> frc(image, image)
    20.0
    """
    if not reference.any() or not estimate.any():
        return "an image is empty"
    a, b = np.fft.fft2(reference), np.fft.fft2(estimate)
    frequencies = np.hypot(*np.meshgrid(*(np.fft.fftfreq(n) for n in reference.shape), indexing="ij"))
    rings = min(reference.shape) // 2
    ring = np.round(frequencies * min(reference.shape)).astype(np.int64).ravel()
    used = ring <= rings
    cross = np.bincount(ring[used], (a * b.conj()).real.ravel()[used], minlength=rings + 1)
    power_a = np.bincount(ring[used], (np.abs(a) ** 2).ravel()[used], minlength=rings + 1)
    power_b = np.bincount(ring[used], (np.abs(b) ** 2).ravel()[used], minlength=rings + 1)
    power = np.sqrt(power_a * power_b)
    curve = _smoothed(np.divide(cross, power, out=np.zeros_like(cross), where=power > 0))
    below = np.flatnonzero((curve[:-1] > FRC_THRESHOLD) & (curve[1:] <= FRC_THRESHOLD))
    if len(below) == 0:
        return 2 * VOXEL
    k = int(below[0])
    crossing = k + (curve[k] - FRC_THRESHOLD) / (curve[k] - curve[k + 1])
    return float(VOXEL * min(reference.shape) / crossing)


def _smoothed(curve: FloatArray) -> FloatArray:
    """Each value from a line through its neighbours, the nearer ones weighing more (tricube)."""
    span = max(5, math.ceil(len(curve) / 20)) | 1
    places = np.arange(len(curve), dtype=np.float64)
    smooth = np.empty(len(curve))
    for k in range(len(curve)):
        first = min(max(0, k - span // 2), max(0, len(curve) - span))
        x, y = places[first : first + span] - k, curve[first : first + span]
        weight = (1 - (np.abs(x) / (np.abs(x).max() + 1)) ** 3) ** 3
        mean_x, mean_y = np.average(x, weights=weight), np.average(y, weights=weight)
        spread = (weight * (x - mean_x) ** 2).sum()
        slope = (weight * (x - mean_x) * (y - mean_y)).sum() / spread if spread > 0 else 0.0
        smooth[k] = mean_y - slope * mean_x
    return smooth


def image_score(truth: Localizations, pred: Localizations, *, fov: tuple[float, float], dim: int) -> dict[str, Measure]:
    """The fields of `ImageScore`: images of a field of `fov` nm (and, in 3D, 1500 nm depth around the focal plane).

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[255.0], y=[255.0])
    >>> p = Localizations(frame=[1], x=[260.0], y=[255.0])
    >>> round(image_score(t, p, fov=(640.0, 640.0), dim=2)["snr_xy"], 2)
    7.81
    """
    lateral = (math.ceil(fov[0] / VOXEL), math.ceil(fov[1] / VOXEL))
    if dim == 3:
        return _volume_score(truth, pred, (*lateral, math.ceil(DEPTH / VOXEL)))
    images = [render(table.points(2), lateral) for table in (truth, pred)]
    axial = dict.fromkeys(("snr_xyz", "snr_xz", "snr_yz", "frc_xz", "frc_yz"), IN_2D.text)
    return {"snr_xy": snr(*images), "frc_xy": frc(*images), **axial}


def _volume_score(truth: Localizations, pred: Localizations, shape: tuple[int, int, int]) -> dict[str, Measure]:
    """Rendered plane by plane, so that the volume is never in memory as a whole."""
    width, height, depth = shape
    xy = [np.zeros((width, height)) for _ in range(2)]
    xz = [np.zeros((width, depth)) for _ in range(2)]
    yz = [np.zeros((height, depth)) for _ in range(2)]
    signal = noise = 0.0
    clouds = []
    for table in (truth, pred):
        points = table.points(3) + np.array([0.0, 0.0, DEPTH / 2])
        clouds.append(points[((points >= 0) & (points <= np.array(shape) * VOXEL)).all(axis=1)])
    for first in range(0, depth, _SLAB):
        planes = min(_SLAB, depth - first)
        slabs = [_slab(points, first, planes, (width, height)) for points in clouds]
        signal += float((slabs[0] ** 2).sum())
        noise += float(((slabs[0] - slabs[1]) ** 2).sum())
        for side, slab in enumerate(slabs):
            xy[side] += slab.sum(axis=2)
            xz[side][:, first : first + planes] = slab.sum(axis=1)
            yz[side][:, first : first + planes] = slab.sum(axis=0)
    projections = {"xy": xy, "xz": xz, "yz": yz}
    return (
        {"snr_xyz": _decibel(signal, noise)}
        | {f"snr_{name}": snr(*images) for name, images in projections.items()}
        | {f"frc_{name}": frc(*images) for name, images in projections.items()}
    )


def _slab(points: FloatArray, first: int, planes: int, lateral: tuple[int, int]) -> FloatArray:
    """Some planes of the volume; each point reaches a few planes up and down from its own."""
    voxel = np.maximum(np.ceil(points / VOXEL).astype(np.int64) - 1, 0)
    near = (voxel[:, 2] >= first - _REACH) & (voxel[:, 2] < first + planes + _REACH)
    slab = np.zeros((*lateral, planes))
    moved = points[near] - np.array([0.0, 0.0, first * VOXEL])
    image = slab.reshape(-1)
    _add(image, moved, voxel[near] - np.array([0, 0, first]), (*lateral, planes))
    return slab
