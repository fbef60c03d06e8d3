"""The options that say by which rules results are compared, shared by all commands that score."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.cli.reading import numbers
from flatmetric.protocol import Protocol, field_of_view, read_wobble

_RULES = "Rules"
_FLAT = "Flat Metric and others"
_CERTAINTY = "Certainty"

LamOption = Annotated[
    float, typer.Option("--lam", help="Cost of a missed or false molecule, nm.", rich_help_panel=_FLAT)
]
WeightsOption = Annotated[str, typer.Option("--weights", help="uniform or photons.", rich_help_panel=_FLAT)]
AxisScaleOption = Annotated[
    str | None,
    typer.Option("--axis-scale", metavar="SX,SY[,SZ]", help="Factors for each axis.", rich_help_panel=_FLAT),
]
AlphaXyOption = Annotated[
    float, typer.Option("--alpha-xy", help="Lateral weight in the efficiency, 1/nm.", rich_help_panel=_FLAT)
]
AlphaZOption = Annotated[
    float, typer.Option("--alpha-z", help="Axial weight in the efficiency, 1/nm.", rich_help_panel=_FLAT)
]
GospaPOption = Annotated[float, typer.Option("--gospa-p", help="Order of GOSPA and OSPA.", rich_help_panel=_FLAT)]
GospaCOption = Annotated[
    float | None, typer.Option("--gospa-c", help="Cutoff of GOSPA and OSPA, nm; 2 lam.", rich_help_panel=_FLAT)
]
ProtocolOption = Annotated[
    str | None,
    typer.Option("--protocol", metavar="NAME|FILE.toml", help="challenge2016, or a file.", rich_help_panel=_RULES),
]
DimOption = Annotated[int | None, typer.Option("--dim", help="2 or 3; default by the files.", rich_help_panel=_RULES)]
ToleranceOption = Annotated[float | None, typer.Option("--tolerance", help="Lateral, nm; 250.", rich_help_panel=_RULES)]
ToleranceZOption = Annotated[
    float | None, typer.Option("--tolerance-z", help="Axial, nm; 500.", rich_help_panel=_RULES)
]
MatchingOption = Annotated[str | None, typer.Option("--matching", help="greedy or optimal.", rich_help_panel=_RULES)]
BorderOption = Annotated[
    float | None, typer.Option("--border", help="Left out on every side, nm.", rich_help_panel=_RULES)
]
FovOption = Annotated[
    str | None,
    typer.Option("--fov", metavar="NM", help="Size of the field; NM,NM where x and y differ.", rich_help_panel=_RULES),
]
PhotonThresholdOption = Annotated[
    float | None,
    typer.Option("--photon-threshold", help="Molecules of so many photons don't count.", rich_help_panel=_RULES),
]
PhotonQuantileOption = Annotated[
    float | None,
    typer.Option("--photon-quantile", help="The same by a quantile of the true photons.", rich_help_panel=_RULES),
]
WobbleOption = Annotated[
    Path | None, typer.Option("--wobble", help="CSV of dx, dy, z in nm, added to the truth.", rich_help_panel=_RULES)
]
FirstFrameOption = Annotated[int | None, typer.Option("--first-frame", help="First compared.", rich_help_panel=_RULES)]
LastFrameOption = Annotated[int | None, typer.Option("--last-frame", help="Last compared.", rich_help_panel=_RULES)]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Default: all cores.")]
ResamplesOption = Annotated[int, typer.Option("--resamples", help="Of the bootstrap.", rich_help_panel=_CERTAINTY)]
SeedOption = Annotated[int, typer.Option("--seed", help="Of the bootstrap.", rich_help_panel=_CERTAINTY)]
BlockOption = Annotated[
    int | None,
    typer.Option("--block", help="Frames drawn together; default from the data.", rich_help_panel=_CERTAINTY),
]
CiOption = Annotated[
    float | None, typer.Option("--ci", metavar="PERCENT", help="Confidence intervals.", rich_help_panel=_CERTAINTY)
]


def rule_files(protocol: str | None, wobble: Path | None) -> list[Path]:
    """The files that the rules are read from."""
    return [Path(name) for name in (protocol, wobble) if name is not None]


def rules_from_flags(
    name: str | None,
    *,
    dim: int | None = None,
    tolerance: float | None = None,
    tolerance_z: float | None = None,
    matching: str | None = None,
    border: float | None = None,
    fov: str | None = None,
    photon_threshold: float | None = None,
    photon_quantile: float | None = None,
    wobble: Path | None = None,
    first_frame: int | None = None,
    last_frame: int | None = None,
) -> Protocol:
    """The named rules, with what the flags say otherwise."""
    rules = Protocol()
    if name is not None:
        rules = Protocol.from_toml(name) if name.endswith(".toml") else Protocol.preset(name)
    flags: dict[str, Any] = {
        "dim": dim,
        "tolerance": tolerance,
        "tolerance_z": tolerance_z,
        "matching": matching,
        "border": border,
        "fov": None if fov is None else field_of_view(numbers(fov, "--fov")),
        "photon_threshold": photon_threshold,
        "photon_quantile": photon_quantile,
        "wobble": None if wobble is None else read_wobble(wobble),
        "first_frame": first_frame,
        "last_frame": last_frame,
    }
    given = {flag: value for flag, value in flags.items() if value is not None}
    # One kind of threshold takes the place of the other.
    if photon_quantile is not None and photon_threshold is None:
        given["photon_threshold"] = None
    elif photon_threshold is not None and photon_quantile is None:
        given["photon_quantile"] = None
    return dataclasses.replace(rules, **given)
