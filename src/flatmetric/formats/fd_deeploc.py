"""FD-DeepLoc CSV: the columns of the challenge's truth under other names."""

from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="fd-deeploc",
    title="FD-DeepLoc",
    known_by=("ground-truth", "frame", "xnm", "ynm", "intensity"),
    columns={
        "id": ("ground-truth",),
        "frame": ("frame",),
        "x": ("xnm",),
        "y": ("ynm",),
        "z": ("znm",),
        "photons": ("intensity",),
    },
    unit="nm",
    frame_base=None,
    first_pixel=None,
).format()
