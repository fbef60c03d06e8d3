"""Find and fix a wrong file
=========================

Half a pixel too far to the right: nothing is wrong with the program, everything with its file. ``check`` finds it.
"""

from pathlib import Path

import flatmetric as fm

data = Path(fm.__file__).parent / "data"
truth = fm.read(data / "demo_truth.csv")
shifted = fm.read(data / "demo_dog.csv", shift=(50, 0))

findings = fm.check(truth, shifted)
for finding in findings:
    print(finding.what())

# %%

findings.plot()

# %%
# Fixed, without running the program again:

fixed = findings.apply()
before, after = (fm.score(truth, table, check=False).flat_metric.value for table in (shifted, fixed))
print(f"Flat Metric {before:.1f} nm before, {after:.1f} nm after")
