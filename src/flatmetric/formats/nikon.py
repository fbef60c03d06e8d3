"""Nikon N-STORM text: raw, drift-corrected (c) and warped (w) positions side by side."""

from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="nikon",
    title="Nikon N-STORM",
    known_by=("channel name", "xc", "yc", "frame", "photons"),
    columns={
        "frame": ("frame",),
        "x": ("xc",),
        "y": ("yc",),
        "z": ("zc", "z"),
        "photons": ("photons",),
        "uncertainty": ("lateral localization accuracy",),
        "background": ("bg",),
        "channel": ("channel name",),
    },
    unit="nm",
    frame_base=1,
    first_pixel=None,
    notes=("positions are the drift-corrected Xc, Yc, Zc",),
).format()
