"""Vutara (Bruker) CSV."""

from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="vutara",
    title="Vutara",
    known_by=("image-id", "cycle", "z-step", "frame", "photon-count", "x", "y"),
    columns={
        "frame": ("frame",),
        "x": ("x",),
        "y": ("y",),
        "z": ("z",),
        "photons": ("photon-count",),
        "channel": ("probe",),
    },
    unit="nm",
    frame_base=None,
    first_pixel=None,
    valid="valid",
).format()
