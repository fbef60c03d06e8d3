"""One small file for each format, written to the format's description, all with the same localizations in them."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import pandas as pd

FRAME: Any = np.array([1, 1, 4])
X: Any = np.array([150.0, 1234.5, 620.25])
Y: Any = np.array([250.0, 80.0, 3000.75])
Z: Any = np.array([-120.0, 0.0, 333.25])
PHOTONS: Any = np.array([900.5, 1500.0, 2200.0])
PIXEL = 100.0
ROWS = list(zip(FRAME, X, Y, Z, PHOTONS, strict=True))


@dataclass(frozen=True)
class Sample:
    """How to write it, which format it must be known as, which options it needs, and what it can't hold."""

    file: str
    format: str
    write: Callable[[Path], Any]
    options: dict[str, Any] = field(default_factory=dict)
    has_z: bool = True
    has_frames: bool = True
    has_photons: bool = True
    tolerance: float = 1e-9  # nm


def text(content: str, encoding: str = "utf-8") -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content.encode(encoding))


def table(header: str, row: Callable[[int, float, float, float, float], list[Any]], delimiter: str = ",") -> str:
    lines = [header] if header else []
    lines += [delimiter.join(str(cell) for cell in row(*r)) for r in ROWS]
    return "\n".join(lines) + "\n"


def _px(nm: Any, first_pixel: float = 0.0, pixel: float = PIXEL) -> Any:
    return nm / pixel - 0.5 + first_pixel


RAPIDSTORM_FIELDS = "".join(
    f'<field identifier="{name}" syntax="floating point" semantic="s" unit="{unit}" />'
    for name, unit in (
        ("Position-0-0", "nanometer"),
        ("Position-1-0", "nanometer"),
        ("Position-2-0", "nanometer"),
        ("ImageNumber-0-0", "frame"),
        ("Amplitude-0-0", "A/D count"),
    )
)

THUNDERSTORM = table(
    '"id","frame","x [nm]","y [nm]","z [nm]","sigma1 [nm]","sigma2 [nm]","intensity [photon]","offset [photon]",'
    '"uncertainty_xy [nm]"',
    lambda f, x, y, z, p: [7.0, f, x, y, z, 120, 130, p, 12, "NaN"],
)

ELYRA = (
    table(
        "Index\tFirst Frame\tNumber Frames\tFrames Missing\tPosition X [nm]\tPosition Y [nm]\tPosition Z [nm]\t"
        "Precision [nm]\tNumber Photons\tBackground variance\tChi square\tPSF half width [nm]\tChannel\tZ Slice",
        lambda f, x, y, z, p: [1, f, 1, 0, x, y, z, 8.6, p, 5, 0.3, 110, 1, 1],
        "\t",
    ).replace("\n", "\r\n")
    + "\0\r\r\nVoxelSizeX : 0.1 \xb5m\r\r\nVoxelSizeY : 0.1 \xb5m\r\r\nSizeX : 3200\r\r\n"
)

GDSC = table(
    "#Localisation Results File\n#FileVersion text.D0.E0.V3\n#Name sample\n"
    "#Calibration <calibration><nmPerPixel>100.0</nmPerPixel></calibration>\n"
    "#Frame\torigX\torigY\torigValue\tError\tNoise\tMean\tBackground\tSignal\tX (px)\tY (px)\tZ (px)\tPrecision (nm)",
    lambda f, x, y, z, p: [f, 1, 2, 30.0, 0.1, 2.0, 5.0, 12.0, p, x / PIXEL, y / PIXEL, z / PIXEL, 9.5],
    "\t",
)

QUICKPALM = table(
    "\tIntensity\tX (px)\tY (px)\tX (nm)\tY (nm)\tZ (nm)\tLeft-Width(px)\tRight-Width (px)\tUp-Height (px)\t"
    "Down-Height (px)\tX Symmetry (%)\tY Symmetry (%)\tWidth minus Height (px)\tFrame Number",
    lambda f, x, y, z, p: [1, p, 0, 0, x - 50, y - 50, z, 1, 1, 1, 1, 1, 1, 1, f],
    "\t",
)

_PEAKSELECTOR_NAMES = (
    *("Offset", "Amplitude", "X_Position", "Y_Position", "X_Peak_Width", "Y_Peak_Width", "6_N_Photons", "ChiSquared"),
    *("FitOK", "Frame_Number", "Group_X_Position", "Group_Y_Position", "Z_Position"),
)
PEAKSELECTOR = table(
    "\t".join(_PEAKSELECTOR_NAMES),
    lambda f, x, y, z, p: [3, 4, x / PIXEL, y / PIXEL, 1, 1, p, 1, 1, f, 0, 0, z],
    "\t",
)


def picasso(path: Path, metadata: bool = False, yaml: bool = True) -> None:
    locs = np.zeros(len(X), dtype=[(n, "<u4" if n == "frame" else "<f4") for n in ("frame", "x", "y", "z", "photons")])
    locs["frame"], locs["x"], locs["y"], locs["z"], locs["photons"] = FRAME - 1, _px(X), _px(Y), Z, PHOTONS
    with h5py.File(path, "w") as file:
        file["locs"] = locs
        if metadata:
            file["metadata"] = json.dumps([{"Pixelsize": 7}, {"Pixelsize": PIXEL}])
    if yaml:
        path.with_suffix(".yaml").write_text(f"Frames: 4\nPixelsize: 7\n---\nPixelsize: {PIXEL:g}\n")


def decode(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["data/xyz"] = np.column_stack((_px(X, pixel=127), _px(Y, pixel=117), Z))
        file["data/frame_ix"] = FRAME - 1
        file["data/phot"] = PHOTONS
        file["data/xyz_cr"] = h5py.Empty("<f4")
        meta = file.create_group("meta")
        meta.attrs["xy_unit"] = "px"
        meta.attrs["px_size"] = [127.0, 117.0]


def pandas_table(form: Literal["fixed", "table"]) -> Callable[[Path], None]:
    frame = pd.DataFrame({"frame": FRAME, "x [nm]": X, "y [nm]": Y, "z [nm]": Z, "photons": PHOTONS})
    return lambda path: frame.to_hdf(path, key="points", mode="w", format=form)


def storm_analysis(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["sa_type"] = "unknown"
        file.attrs["pixel_size"] = PIXEL
        for frame in range(5):
            group = file.create_group(f"fr_{frame}")
            rows = frame == FRAME - 1
            group.attrs["n_locs"] = int(rows.sum())
            group.attrs["dx"] = 0.25
            for name, values in (("x", _px(X) - 0.25), ("y", _px(Y)), ("z", Z / 1000), ("sum", PHOTONS)):
                if rows.any():
                    group[name] = values[rows]


def smap_mat(path: Path) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in (("frame", FRAME), ("xnm", X), ("ynm", Y), ("znm", Z), ("phot", PHOTONS)):
            file[f"saveloc/loc/{name}"] = values.astype(float)[None, :]
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, made by a test".ljust(512, b" "))


def insight3(path: Path) -> None:
    content = b"M425" + struct.pack("<iii", 4, 6, len(ROWS))
    for f, x, y, z, p in ROWS:
        px, py = _px(x, 1.0), _px(y, 1.0)
        content += struct.pack("<11f5i2f", px, py, px, py, 5, p, 300, 0, 1, 12, p, 1, 1, f, 1, -1, z, z)
    path.write_bytes(content + b"\0\0\0\0<settings/>")


def smlm(path: Path) -> None:
    manifest = {
        "format_version": "0.2",
        "formats": {
            "t": {
                "mode": "binary",
                "headers": ["frame", "x", "y", "z", "intensity"],
                "dtype": ["int32", "float64", "float64", "float64", "float32"],
                "shape": [1] * 5,
                "units": ["", "um", "um", "nm", "photon"],
            }
        },
        "files": [{"name": "t.bin", "type": "table", "format": "t", "rows": len(ROWS)}],
    }
    content = b"".join(struct.pack("<idddf", f, x / 1e3, y / 1e3, z, p) for f, x, y, z, p in ROWS)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("t.bin", content)


def _minflux_records() -> Any:
    kind = [("itr", [("itr", "<i4"), ("loc", "<f8", (3,))], (2,)), ("tim", "<f8"), ("tid", "<i4"), ("vld", "?")]
    records = np.zeros(len(X) + 1, dtype=kind)
    records["itr"]["loc"][:-1, 1] = np.column_stack((X, Y, Z)) * 1e-9
    records["itr"]["loc"][-1, 1] = 9.0
    records["vld"][:-1] = True
    return records


def minflux_npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, _minflux_records())


def minflux_mat(path: Path) -> None:
    from scipy.io import savemat

    records = _minflux_records()
    itr = {"loc": records["itr"]["loc"], "itr": records["itr"]["itr"]}
    with path.open("wb") as file:
        savemat(file, {"itr": itr, "vld": records["vld"], "tid": records["tid"]})


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _message(*fields: tuple[int, int | float]) -> bytes:
    content = b""
    for number, value in fields:
        if isinstance(value, float):
            content += _varint(number << 3 | 5) + struct.pack("<f", value)
        else:
            content += _varint(number << 3) + _varint(value)
    return _varint(len(content)) + content


def tsf(path: Path) -> None:
    spots = b"".join(
        _message((1, 1), (2, 1), (3, int(f)), (7, float(x / 100)), (8, float(y / 100)), (9, float(z)), (10, float(p)))
        for f, x, y, z, p in ROWS
    )
    name = _varint(2 << 3 | 2) + _varint(3) + b"abc"
    summary = _message((1, 1), (7, 100.0), (8, len(ROWS)), (22, 2), (23, 1))
    summary = _varint(summary[0] + len(name)) + name + summary[1:]
    path.write_bytes(struct.pack(">iq", 0, len(spots)) + spots + summary)


_TSF_SUMMARY = "application_id: 1\tname: a: b\tpixel_size: 100.0\tlocation_units: PIXELS\tintensity_units: PHOTONS\n"
TSF_TEXT = _TSF_SUMMARY + table(
    "molecule\tchannel\tframe\tx\ty\tz\tintensity", lambda f, x, y, z, p: [1, 1, f, x / 100, y / 100, z, p], "\t"
)


def parquet(path: Path) -> None:
    import pyarrow
    from pyarrow import parquet as writer

    writer.write_table(pyarrow.table({"frame": FRAME, "x [nm]": X, "y [nm]": Y, "z [nm]": Z, "photons": PHOTONS}), path)


def arrow(path: Path) -> None:
    import pyarrow
    from pyarrow import feather

    columns = pyarrow.table({"frame": FRAME, "x [nm]": X, "y [nm]": Y, "z [nm]": Z, "photons": PHOTONS})
    feather.write_feather(columns, str(path), compression="uncompressed")


STANDARD = table("", lambda *row: list(row))


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("result.csv", STANDARD)


def zstd(path: Path) -> None:
    import zstandard

    path.write_bytes(zstandard.compress(STANDARD.encode()))


def _npy_in_zip(path: Path) -> None:
    content = io.BytesIO()
    np.save(content, _minflux_records())
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", content.getvalue())


_CHALLENGE_TRUTH = table(
    "Ground-truth,frame,xnano,ynano,znano,intensity ",
    lambda f, x, y, z, p: [f"    {f}", f"  {f}", f" {x}", f" {y}", z, f"{p} "],
)
_NIKON = table(
    "Channel Name\tX\tY\tXc\tYc\tHeight\tArea\tWidth\tPhi\tAx\tBG\tI\tFrame\tLength\tLink\tValid\tZ\tZc\tPhotons\t"
    "Lateral Localization Accuracy\tXw\tYw\tXwc\tYwc",
    lambda f, x, y, z, p: [647, 1, 1, x, y, 5, 5, 300, 0, 1, 650, 5, f, 1, 0, -2, 1, z, p, 11.5, 2, 2, 2, 2],
    "\t",
)
_DECODE_COMMENTS = '# This is an export\n# {"version": "0.10"}\n# {"xy_unit": "px", "px_size": [127.0, 117.0]}\n'
_DECODE_CSV = _DECODE_COMMENTS + table(
    "x,y,z,phot,frame_ix,id,prob", lambda f, x, y, z, p: [_px(x, pixel=127), _px(y, pixel=117), z, p, f - 1, 3, 0.9]
)
_VUTARA = table(
    "image-ID,cycle,z-step,frame,accum,probe,photon-count,x,y,z,valid",
    lambda f, x, y, z, p: [1, 0, 0, f, 0, 1, p, x, y, z, 1],
)
_FD_DEEPLOC = table("Ground-truth,frame,xnm,ynm,znm,intensity,nms_p", lambda f, x, y, z, p: [1, f, x, y, z, p, 0.9])

SAMPLES = [
    Sample("activations.csv", "challenge-truth", text(_CHALLENGE_TRUTH)),
    Sample("standard.csv", "challenge-standard", text(STANDARD)),
    Sample("thunderstorm.csv", "thunderstorm", text(THUNDERSTORM)),
    Sample(
        "thunderstorm-px.csv",
        "thunderstorm",
        text(table('"frame","x [px]","y [px]","intensity [photon]"', lambda f, x, y, z, p: [f, x / 100, y / 100, p])),
        {"pixel_size": PIXEL},
        has_z=False,
    ),
    Sample(
        "thunderstorm-quotes.csv",
        "thunderstorm",
        text(
            table(
                '"id,""frame"",""x [nm]"",""y [nm]"",""intensity [photon]"",""uncertainty [nm]"""',
                lambda f, x, y, z, p: [7.0, float(f), x, y, p, 5.5],
            )
        ),
        has_z=False,
    ),
    Sample(
        "rapidstorm.txt",
        "rapidstorm",
        text(
            table(
                f'# <localizations insequence="true">{RAPIDSTORM_FIELDS}</localizations>',
                lambda f, x, y, z, p: [x - 50, y - 50, z, f - 1, p],
                " ",
            )
        ),
        {"pixel_size": PIXEL},
    ),
    Sample("picasso.hdf5", "picasso", picasso, tolerance=1e-4),
    Sample("picasso-json.hdf5", "picasso", lambda path: picasso(path, metadata=True, yaml=False), tolerance=1e-4),
    Sample(
        "picasso-bare.hdf5", "picasso", lambda path: picasso(path, yaml=False), {"pixel_size": PIXEL}, tolerance=1e-4
    ),
    Sample(
        "picasso.csv",
        "picasso-table",
        text(
            table(
                "frame,x,y,photons,sx,sy,bg,lpx,lpy,z,net_gradient",
                lambda f, x, y, z, p: [f - 1, _px(x), _px(y), p, 1.1, 1.3, 12.0, 0.1, 0.2, z, 900],
            )
        ),
        {"pixel_size": PIXEL},
    ),
    Sample("decode.h5", "decode", decode),
    Sample("decode.csv", "decode-csv", text(_DECODE_CSV)),
    Sample("storm-analysis.hdf5", "storm-analysis", storm_analysis),
    Sample("pandas.h5", "hdf5-table", pandas_table("fixed")),
    Sample("pandas-table.h5", "hdf5-table", pandas_table("table")),
    Sample("insight3.bin", "insight3", insight3, {"pixel_size": PIXEL}, tolerance=2e-4),
    Sample("nikon.txt", "nikon", text(_NIKON)),
    Sample("elyra.txt", "elyra", text(ELYRA, "latin-1")),
    Sample(
        "oni.csv",
        "oni",
        text(
            table(
                "Channel,Frame,X (nm),Y (nm),Z (nm),Photons,Background",
                lambda f, x, y, z, p: [0, f - 1, x, y, z, p, 0.5],
            )
        ),
    ),
    Sample(
        "smap.csv",
        "smap-csv",
        text(table("frame,xnm,ynm,znm,phot,bg,locprecnm", lambda f, x, y, z, p: [f, x, y, z, p, 12, 5.5])),
    ),
    Sample("smap_sml.mat", "smap", smap_mat),
    Sample("peakfit.xls", "gdsc", text(GDSC)),
    Sample("quickpalm.xls", "quickpalm", text(QUICKPALM), {"pixel_size": PIXEL}),
    Sample(
        "octane.txt",
        "octane",
        text(table("", lambda f, x, y, z, p: [f, _px(x), _px(y), p], " ")),
        {"pixel_size": PIXEL},
        has_z=False,
    ),
    Sample("peakselector.txt", "peakselector", text(PEAKSELECTOR), {"pixel_size": PIXEL}),
    Sample(
        "leica.ascii",
        "leica",
        text(
            table(
                "stackID,frameID,eventID,x0,y0,photon_count,z0,type,n_raw",
                lambda f, x, y, z, p: [1, f, 1, x, y, p, z, 0, 1],
            )
        ),
    ),
    Sample("vutara.csv", "vutara", text(_VUTARA)),
    Sample("fd-deeploc.csv", "fd-deeploc", text(_FD_DEEPLOC)),
    Sample("spots.tsf", "tsf", tsf, tolerance=2e-4),
    Sample("spots.txt", "tsf-text", text(TSF_TEXT)),
    Sample("table.smlm", "smlm", smlm),
    Sample("minflux.npy", "minflux-npy", minflux_npy, has_frames=False, has_photons=False),
    Sample("minflux.zip", "minflux-npy", _npy_in_zip, has_frames=False, has_photons=False),
    Sample("minflux.mat", "minflux-mat", minflux_mat, has_frames=False, has_photons=False),
    Sample(
        "traces.csv",
        "minflux-csv",
        text(table("tid,t,x,y,z", lambda f, x, y, z, p: [5, 0.1, x, y, z])),
        has_frames=False,
        has_photons=False,
    ),
    Sample("plain.csv", "plain", text(table("frame,x,y,z,photons", lambda *row: list(row)))),
    Sample(
        "odd-order.tsv",
        "plain",
        text(table("Photons\tY (um)\tX (um)\tz [nm]\tFRAME", lambda f, x, y, z, p: [p, y / 1e3, x / 1e3, z, f], "\t")),
    ),
    Sample("savetxt.dat", "plain", text(table("# x y z frame phot", lambda f, x, y, z, p: [x, y, z, f, p], " "))),
    Sample(
        "given-columns.txt",
        "plain",
        text(table("", lambda f, x, y, z, p: [p, 0, y, x, z, f], ";")),
        {"columns": {"photons": 1, "y": 3, "x": 4, "z": 5, "frame": 6}},
    ),
    Sample("table.parquet", "parquet", parquet),
    Sample("table.arrow", "parquet", arrow),
    Sample("standard.csv.gz", "challenge-standard", lambda path: path.write_bytes(gzip.compress(STANDARD.encode()))),
    Sample("standard.csv.zst", "challenge-standard", zstd),
    Sample("standard.zip", "challenge-standard", zipped),
    Sample("utf16.csv", "plain", text("\ufeff" + table("frame,x,y,z,photons", lambda *row: list(row)), "utf-16-le")),
    Sample("bom.csv", "plain", text("\ufeff" + table("frame,x,y,z,photons", lambda *row: list(row)))),
    Sample("mac.csv", "challenge-standard", text(STANDARD.replace("\n", "\r"))),
    Sample("mixed.csv", "challenge-standard", text(STANDARD.replace("\n", "\r\n", 1).replace("\n", "\r", 1))),
]
