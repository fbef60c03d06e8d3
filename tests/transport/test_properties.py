"""What is true of every metric, and of this one, whatever the points."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import flatmetric as fm
from tests.certificate import check, solve
from tests.problems import Array, Problem

settings.register_profile("flatmetric", deadline=None, max_examples=150, derandomize=True)
settings.load_profile("flatmetric")

TOLERANCE = 1e-9

# Few distinct coordinates and masses among arbitrary ones: ties and repeated points come up often.
coordinates = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3, allow_subnormal=False))
masses = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(0, 1e3, allow_subnormal=False))
lams = st.one_of(st.sampled_from([0.5, 1.0, 2.0]), st.floats(1e-3, 1e4))


@st.composite
def measures(draw: st.DrawFn, dimension: int = 2) -> tuple[Array, Array]:
    n = draw(st.integers(0, 9))
    points = draw(hnp.arrays(np.float64, (n, dimension), elements=coordinates))
    return points, draw(hnp.arrays(np.float64, n, elements=masses))


Measure = tuple[Array, Array]


def value(mu: Measure, nu: Measure, lam: float) -> float:
    problem = Problem(mu[0], nu[0], lam, mu[1], nu[1])
    result = solve(problem)
    check(problem, result)
    return result.value


def size(lam: float, *parts: Measure) -> float:
    return lam * sum(float(weights.sum()) for _, weights in parts)


@given(measures(), measures(), lams)
def test_symmetry(mu: Measure, nu: Measure, lam: float) -> None:
    assert abs(value(mu, nu, lam) - value(nu, mu, lam)) <= TOLERANCE * size(lam, mu, nu)


@given(measures(), measures(), measures(), lams)
def test_triangle_inequality(mu: Measure, nu: Measure, rho: Measure, lam: float) -> None:
    slack = TOLERANCE * size(lam, mu, nu, rho)
    assert value(mu, rho, lam) <= value(mu, nu, lam) + value(nu, rho, lam) + slack


@given(measures(), lams)
def test_identity(mu: Measure, lam: float) -> None:
    assert value(mu, mu, lam) <= TOLERANCE * size(lam, mu)


@given(measures(), measures(), lams, st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_homogeneity_in_space_and_in_mass(mu: Measure, nu: Measure, lam: float, space: float, mass: float) -> None:
    scaled = value((mu[0] * space, mu[1] * mass), (nu[0] * space, nu[1] * mass), lam * space)
    assert abs(scaled - value(mu, nu, lam) * space * mass) <= TOLERANCE * size(lam, mu, nu) * space * mass


@given(measures(), measures(), lams, st.floats(0, 7), st.floats(-100, 100))
def test_rigid_motion(mu: Measure, nu: Measure, lam: float, angle: float, shift: float) -> None:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = value((mu[0] @ turn + shift, mu[1]), (nu[0] @ turn + shift, nu[1]), lam)
    # rounding of the moved coordinates, not of the solver, is what is left
    slack = TOLERANCE * (size(lam, mu, nu) + 2e3 * min(mu[1].sum(), nu[1].sum()))
    assert abs(moved - value(mu, nu, lam)) <= slack


@given(measures(), measures(), lams, st.randoms(use_true_random=False))
def test_permutation(mu: Measure, nu: Measure, lam: float, random: object) -> None:
    order = list(range(len(mu[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = (mu[0][order], mu[1][order])
    assert abs(value(shuffled, nu, lam) - value(mu, nu, lam)) <= TOLERANCE * size(lam, mu, nu)


@given(measures(), measures(), lams, lams, st.floats(0, 1))
def test_concave_and_non_decreasing_in_lam(mu: Measure, nu: Measure, one: float, other: float, share: float) -> None:
    low, high = sorted((one, other))
    between = share * low + (1 - share) * high
    slack = TOLERANCE * size(high, mu, nu)
    at_low, at_between, at_high = (value(mu, nu, lam) for lam in (low, between, high))
    assert at_low <= at_between + slack and at_between <= at_high + slack
    assert at_between >= share * at_low + (1 - share) * at_high - slack


@given(measures(), measures(), measures(), measures(), st.floats(1e-3, 100))
def test_far_parts_and_frames_add(mu: Measure, nu: Measure, mu2: Measure, nu2: Measure, lam: float) -> None:
    apart = value(mu, nu, lam) + value(mu2, nu2, lam)
    far = np.array([1e4, 0.0])
    truth, pred = np.vstack([mu[0], mu2[0]]), np.vstack([nu[0], nu2[0]])
    a, b = np.concatenate([mu[1], mu2[1]]), np.concatenate([nu[1], nu2[1]])
    together = value((np.vstack([mu[0], mu2[0] + far]), a), (np.vstack([nu[0], nu2[0] + far]), b), lam)
    frames = fm.flat_metric(
        truth,
        pred,
        lam=lam,
        truth_weights=a,
        pred_weights=b,
        truth_frames=np.repeat([1, 2], [len(mu[0]), len(mu2[0])]),
        pred_frames=np.repeat([1, 2], [len(nu[0]), len(nu2[0])]),
    )
    slack = TOLERANCE * size(lam, mu, nu, mu2, nu2)
    assert abs(frames.value - apart) <= slack
    # the far offset costs the coordinates their last digits
    assert abs(together - apart) <= slack + 1e-11 * float(a.sum() + b.sum())


@given(measures(3), measures(3), lams)
def test_never_more_than_leaving_everything(mu: Measure, nu: Measure, lam: float) -> None:
    assert 0 <= value(mu, nu, lam) <= size(lam, mu, nu) * (1 + TOLERANCE)


@given(measures(), measures(), lams)
def test_slope_in_lam_is_the_mass_left(mu: Measure, nu: Measure, lam: float) -> None:
    result = fm.flat_metric(mu[0], nu[0], lam=lam, truth_weights=mu[1], pred_weights=nu[1])
    left = (result.missed + result.false) / lam
    slack = TOLERANCE * size(lam, mu, nu)
    # concave: the tangent lies above the curve everywhere
    for other in (0.5 * lam, 1.5 * lam):
        assert value(mu, nu, other) <= result.value + left * (other - lam) + 2 * slack
