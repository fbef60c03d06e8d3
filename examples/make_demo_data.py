"""Makes the bundled example: blinking molecules on filaments, and what an imaginary program found of them.

Run from the repository: python examples/make_demo_data.py
"""

from pathlib import Path

import numpy as np

FIELD_NM = 6400.0
FRAMES = 60
DATA = Path(__file__).parent.parent / "src" / "flatmetric" / "data"


def filament_sites(rng: np.random.Generator) -> np.ndarray:
    """Places of molecules along six gently bent filaments, in nm."""
    sites = []
    for _ in range(6):
        angles = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.02, 400))
        steps = 15.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        sites.append(FIELD_NM / 2 + rng.normal(0, 1200, 2) + np.cumsum(steps, axis=0))
    return np.concatenate(sites)


def main() -> None:
    """Draw truth and result and write both as CSV."""
    rng = np.random.default_rng(2021)
    sites = filament_sites(rng)
    sites = sites[((sites > 0) & (sites < FIELD_NM)).all(axis=1)]
    truth, result = [], []
    for frame in range(1, FRAMES + 1):
        on = sites[rng.choice(len(sites), rng.poisson(8), replace=False)] + rng.normal(0, 8, (1, 2))
        found = on[rng.uniform(size=len(on)) < 0.85]
        found = found + rng.normal(0, 18, found.shape)
        ghosts = rng.uniform(0, FIELD_NM, (rng.poisson(0.4), 2))
        truth += [(frame, x, y) for x, y in on]
        result += [(frame, x, y) for x, y in np.concatenate([found, ghosts])]
    for name, rows in (("demo_truth.csv", truth), ("demo_result.csv", result)):
        np.savetxt(
            DATA / name, rows, fmt=("%d", "%.2f", "%.2f"), delimiter=",", header="frame,x [nm],y [nm]", comments=""
        )


if __name__ == "__main__":
    main()
