"""Truth and images of a data set fit together and to what was asked for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from flatmetric.simulation.datasets import PAPER, named
from flatmetric.simulation.movie import images, molecules
from flatmetric.simulation.optics import spots


@pytest.mark.parametrize("name", PAPER)
def test_the_density_is_that_of_the_data_set(name: str) -> None:
    dataset = named(name).with_frames(3000)
    truth = molecules(dataset, seed=5)
    assert truth.id is not None
    spread = np.sqrt(np.mean(np.bincount(truth.id)[1:] ** 2.0) * truth.id.max()) / len(truth)  # of a Poisson sum
    assert len(truth) / 3000 == pytest.approx(dataset.per_frame, rel=4 * spread)
    assert spread < 0.04
    assert truth.x.min() >= 0 and truth.x.max() < 6400 and truth.frame.min() <= 5 and truth.frame.max() >= 2996
    assert truth.z is not None and np.abs(truth.z).max() < 950 and np.std(truth.z) == pytest.approx(254, rel=0.1)
    assert truth.photons is not None and truth.photons.min() >= 0.0075 * dataset.photons


def test_rows_of_a_molecule_share_its_id_and_place() -> None:
    truth = molecules(named("MT3.N2.LD").with_frames(500), seed=1)
    assert truth.id is not None
    order = np.lexsort((truth.frame, truth.id))
    ids, x = truth.id[order], truth.x[order]
    same = ids[1:] == ids[:-1]
    assert same.mean() > 0.5
    assert (x[1:][same] == x[:-1][same]).all()
    assert (np.diff(truth.frame[order])[same] > 0).all()
    assert len(np.unique(truth.x)) == truth.id.max()


def test_whole_frames_send_the_photons_asked_for() -> None:
    dataset = dataclasses.replace(named("MT2.N1.HD"), photons=5000.0, photons_spread=0.3, beam=0.0)
    truth = molecules(dataset, seed=2)
    assert truth.photons is not None and truth.id is not None
    brightest = np.zeros(truth.id.max() + 1)
    np.maximum.at(brightest, truth.id, truth.photons)
    often = np.bincount(truth.id) >= 6  # surely on for a whole frame
    assert often.sum() > 300
    assert brightest[often].mean() == pytest.approx(5000, rel=0.06)


def test_the_beam_is_darker_at_the_edges_and_no_molecule_is_brighter_than_in_the_middle() -> None:
    dataset = named("MT2.N1.HD")
    truth = molecules(dataset, seed=2)
    assert truth.photons is not None and truth.photons.max() <= dataset.photons
    off_centre = np.hypot(truth.x - 3200, truth.y - 3200)
    most = [truth.photons[(off_centre > low) & (off_centre <= low + 800)].max() for low in (0, 1600, 2400, 3200)]
    assert most == sorted(most, reverse=True) and most[-1] < 0.8 * most[0]


def test_images_show_the_molecules_over_the_background() -> None:
    dataset = named("MT4.N2.HD").with_frames(250)
    truth = molecules(dataset, seed=3)
    counts = np.stack(list(images(truth, dataset, seed=3)))
    assert counts.shape == (250, 64, 64) and counts.dtype == np.uint16
    assert truth.z is not None and truth.photons is not None
    xyz = np.column_stack([truth.x, truth.y, truth.z])
    expected = 250 * dataset.background + spots(xyz, truth.photons, dataset.optics, pixels=64, pixel_size=100.0)
    mean = dataset.camera.mean(expected / 250) * 250
    error = np.sqrt(250 * dataset.camera.variance(expected / 250))
    deviation = (counts.sum(axis=0) - mean) / error
    assert abs(deviation.mean()) < 0.1 and deviation.std() == pytest.approx(1, abs=0.06)


def test_the_same_seed_gives_the_same_movie_and_another_another() -> None:
    dataset = named("ER2.N3.HD").with_frames(3)
    first, again, other = (
        (truth, np.stack(list(images(truth, dataset, seed))))
        for seed in (1, 1, 2)
        for truth in [molecules(dataset, seed)]
    )
    np.testing.assert_array_equal(first[0].x, again[0].x)
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[1] != other[1]).any() and not np.array_equal(first[0].x, other[0].x)


def test_a_frame_does_not_depend_on_how_many_follow() -> None:
    dataset = named("MT3.N2.LD").with_frames(130)
    truth = molecules(dataset, seed=1)
    many = list(images(truth, dataset, seed=1))
    few = list(images(truth, dataset.with_frames(120), seed=1))
    np.testing.assert_array_equal(np.stack(many[:120]), np.stack(few))
