"""How the documentation site is built: `make docs`. Nothing is fetched, neither here nor by a reader's browser."""

from __future__ import annotations

import sys
from pathlib import Path

import flatmetric

sys.path.insert(0, str(Path(__file__).parent))

project = "flatmetric"
author = "The flatmetric developers"
project_copyright = "the flatmetric developers, MIT licence"
release = version = flatmetric.__version__

extensions = [
    "extension",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autosummary_generate = True
autodoc_mock_imports = ["torch"]  # an extra: its part of the reference needs no PyTorch
autodoc_typehints = "none"  # the docstrings give types, with shapes and units
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "flatmetric"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"start": [], "benchmarks": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    "ignore_pattern": r"__init__\.py",
    "subsection_order": [f"../examples/gallery/{name}" for name in ("first_steps", "understand", "diagnose", "beyond")],
    "within_subsection_order": "extension.ReadingOrder",
    "nested_sections": False,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib", "extension.scrape_last_figure"),
    "ignore_repr_types": r"matplotlib|flatmetric\.plots",
    "matplotlib_animations": False,
    "reset_modules": ("extension.house_style_for_examples",),
}
