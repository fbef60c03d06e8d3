"""Draws what the gradient of the Flat Metric means, for docs/how-to/train.md.

Run from the repository, with PyTorch installed: python -m examples.gradient_picture
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from flatmetric.plots.style import BLACK, GREY, house_style, new_figure, save
from flatmetric.torch import flat_metric

PICTURE = Path(__file__).parent.parent / "docs" / "how-to" / "train" / "gradient.png"
LAM = 125.0
TRUTH = [[200.0, 250.0], [700.0, 200.0], [640.0, 620.0]]
PRED = [[300.0, 330.0], [620.0, 130.0], [790.0, 300.0], [700.0, 560.0], [180.0, 640.0]]
WEIGHTS = [0.9, 0.7, 0.6, 0.5, 0.4]
ARROW = 130.0  # nm for each unit of mass


def main() -> None:
    """Points, their weights, and which way each of both wants to change."""
    truth, pred = torch.tensor(TRUTH), torch.tensor(PRED, requires_grad=True)
    weights = torch.tensor(WEIGHTS, requires_grad=True)
    value = flat_metric(pred, truth, LAM, pred_weights=weights, truth_weights=torch.ones(len(truth)), normalize=None)
    slopes = torch.autograd.grad(value, [pred, weights])
    with house_style():
        figure = new_figure(6.2, 4.4)
        axes = figure.subplots()
        from matplotlib.patches import Circle

        for x, y in TRUTH:
            axes.add_patch(Circle((x, y), 2 * LAM, fill=False, linestyle=":", color=GREY, linewidth=0.8))
        (true_x, true_y), (x_found, y_found) = np.array(TRUTH).T, np.array(PRED).T
        axes.scatter(true_x, true_y, s=60, facecolors="none", edgecolors=BLACK, linewidths=1.4, zorder=4)
        shown = axes.scatter(
            x_found,
            y_found,
            s=[130 * weight for weight in WEIGHTS],
            c=slopes[1].tolist(),
            cmap="coolwarm",
            vmin=-LAM,
            vmax=LAM,
            edgecolors=BLACK,
            linewidths=0.6,
            zorder=3,
        )
        for (x, y), (dx, dy) in zip(PRED, slopes[0].tolist(), strict=True):
            if dx or dy:
                axes.annotate(
                    "", (x - ARROW * dx, y - ARROW * dy), (x, y), arrowprops={"arrowstyle": "-|>", "color": BLACK}
                )
        figure.colorbar(shown, ax=axes, label="slope with the weight [nm]: blue wants more, red less")
        axes.set_aspect("equal")
        axes.set_xlim(-80, 1000)
        axes.set_ylim(900, -80)
        axes.set_xlabel("x [nm]")
        axes.set_ylabel("y [nm]")
        axes.set_title("molecules (rings, with 2 lam around), detections (discs, by weight), and their pull")
    PICTURE.parent.mkdir(exist_ok=True)
    save(figure, PICTURE)


if __name__ == "__main__":
    main()
