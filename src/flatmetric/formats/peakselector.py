"""PeakSelector ASCII export."""

from flatmetric.formats.conversion import CORNER
from flatmetric.formats.delimited import Delimited

FORMAT = Delimited(
    name="peakselector",
    title="PeakSelector",
    known_by=("x_position", "y_position", "6_n_photons", "frame_number"),
    columns={
        "frame": ("frame_number",),
        "x": ("x_position",),
        "y": ("y_position",),
        "z": ("unwrapped_z", "z_position"),
        "photons": ("6_n_photons",),
        "background": ("offset",),
    },
    unit="px",
    frame_base=1,
    first_pixel=CORNER,
).format()
