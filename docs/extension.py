"""What the site needs beyond the usual: formulas without scripts, the help of every command, the keys of the JSON."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from latex2mathml.converter import convert
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery.scrapers import figure_rst

from flatmetric.cli.app import app as command_line
from flatmetric.metrics.table import METRICS
from flatmetric.plots.style import house_style


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
    app.add_directive("command-help", CommandHelp)
    app.add_directive("json-keys", JsonKeys)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline_math(writer: Any, node: nodes.math) -> None:
    """A formula in a line, as MathML, which browsers draw by themselves."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display_math(writer: Any, node: nodes.math_block) -> None:
    """A formula of its own line."""
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def house_style_for_examples(gallery_conf: dict[str, Any], fname: str) -> None:
    """Every example of the gallery starts with the look of the package's own figures."""
    import matplotlib

    matplotlib.rcdefaults()
    with house_style():
        ours = dict(matplotlib.rcParams)
    matplotlib.rcParams.update(ours)


def scrape_last_figure(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The picture of a figure that is the last value of a block, as a notebook would show it."""
    figure = block_vars["example_globals"].get("___")
    if not isinstance(figure, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=100)
    return figure_rst([path], gallery_conf["src_dir"])


class ReadingOrder:
    """The order in which the examples of a folder are best read; those that are not named come last."""

    first = ("score", "one_frame", "compare", "own_points", "two_points", "meaning_of_lambda", "what_lambda_sees")

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> tuple[int, str]:
        """The place of one example."""
        name = file.removeprefix("plot_").removesuffix(".py")
        return self.first.index(name) if name in self.first else len(self.first), name


class CommandHelp(Directive):
    """A section for each command, with the help that it prints."""

    def run(self) -> list[nodes.Node]:
        """The sections, commands within commands included."""
        return self.sections(command_line, "flatmetric", None)

    def sections(self, command: click.Command, word: str, above: click.Context | None) -> list[nodes.Node]:
        """The section of one command, and those of the commands in it."""
        context = command.make_context(word, [], above, resilient_parsing=True, terminal_width=96)
        name = context.command_path
        section = nodes.section(ids=[nodes.make_id(name)], names=[name])
        section += nodes.title(text=name)
        section += nodes.literal_block(text=command.get_help(context), language="text")
        made: list[nodes.Node] = [section]
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                part = command.get_command(context, inner)
                assert part is not None
                made += self.sections(part, inner, context)
        return made


class JsonKeys(SphinxDirective):
    """The keys of a schema of the package as a table: name, type, meaning."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """One table."""
        schema = json.loads((files("flatmetric") / "data" / self.arguments[0]).read_text(encoding="utf-8"))
        lines = ["| key | type | meaning |", "|---|---|---|"]
        for key, part in schema["properties"].items():
            inner = part.get("properties", part.get("items", {}).get("properties", {}))
            metrics = [name for name in inner if f"{key}.{name}" in METRICS]
            others = ", ".join(f"`{name}`" for name in inner if name not in metrics)
            meaning = f"{part['description']} Keys: {others}." if others else part["description"]
            lines.append(f"| `{key}` | {json_type(part)} | {meaning} |")
            for name in metrics:
                lines.append(f"| `{key}.{name}` | {json_type(inner[name])} | {METRICS[f'{key}.{name}'].meaning} |")
        return self.parse_text_to_nodes("\n".join(lines))


def json_type(part: Any) -> str:
    """The type of a value, or the values that it may have."""
    if "const" in part:
        return "string"
    if "enum" in part:
        return ", ".join(f"`{json.dumps(value)}`" for value in part["enum"])
    kinds = part.get("type", "")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
