"""Which of two programs is better?
================================

A difference counts only if it is larger than chance. ``compare`` gives both: the difference, and how sure it is.
"""

from pathlib import Path

import flatmetric as fm

data = Path(fm.__file__).parent / "data"
results = {name: data / f"demo_{name}.csv" for name in ("baseline", "dog")}
comparison = fm.compare(data / "demo_truth.csv", results)
pair = comparison.pairs[0]
print(f"{pair.a} - {pair.b}: {pair.difference:.1f} nm, p {pair.p_adjusted:.3f}")
print("95 % interval from {:.1f} to {:.1f} nm".format(*pair.ci_all))

# %%

comparison.plot()

# %%
# The metrics need not agree: more of what ``dog`` finds is true, but it finds less, and less precisely.

for name, score in zip(comparison.names, comparison.scores, strict=True):
    challenge = score.challenge
    print(
        f"{name:10} precision {challenge.precision:.3f}, recall {challenge.recall:.3f}, RMSE {challenge.rmse_xy:.1f} nm"
    )
