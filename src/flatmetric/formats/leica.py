"""Leica GSD ASCII export."""

from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="leica",
    title="Leica GSD",
    known_by=("stackid", "frameid", "eventid", "x0", "y0"),
    columns={
        "frame": ("frameid",),
        "x": ("x0",),
        "y": ("y0",),
        "z": ("z0",),
        "photons": ("photon_count",),
        "id": ("eventid",),
    },
    unit=None,
    frame_base=None,
    first_pixel=None,
).format()
