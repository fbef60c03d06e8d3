"""ONI Nanoimager CSV."""

from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="oni",
    title="ONI Nanoimager",
    known_by=("channel", "frame", "x (nm)", "y (nm)", "photons"),
    columns={
        "frame": ("frame",),
        "x": ("x (nm)",),
        "y": ("y (nm)",),
        "z": ("z (nm)",),
        "photons": ("photons",),
        "background": ("background",),
        "uncertainty": ("x precision (nm)",),
        "channel": ("channel",),
    },
    unit="nm",
    frame_base=0,
    first_pixel=None,
).format()
