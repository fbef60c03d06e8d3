"""SMAP CSV."""

from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="smap-csv",
    title="SMAP CSV",
    known_by=("frame", "xnm", "ynm"),
    columns={
        "frame": ("frame",),
        "x": ("xnm",),
        "y": ("ynm",),
        "z": ("znm",),
        "photons": ("phot",),
        "background": ("bg",),
        "uncertainty": ("locprecnm",),
        "channel": ("channel",),
    },
    unit="nm",
    frame_base=1,
    first_pixel=None,
).format()
