"""QuickPALM text."""

from flatmetric.formats.conversion import CENTER
from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="quickpalm",
    title="QuickPALM",
    known_by=("intensity", "x (px)", "y (px)", "x (nm)", "y (nm)", "frame number"),
    columns={
        "frame": ("frame number",),
        "x": ("x (nm)",),
        "y": ("y (nm)",),
        "z": ("z (nm)",),
        "photons": ("intensity",),
    },
    unit="nm",
    frame_base=1,
    first_pixel=CENTER,
).format()
