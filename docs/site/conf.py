"""Configuration of the documentation site; `python docs/site/build.py` assembles its pages and calls Sphinx."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import docstrings

import kg2rag

project = "kg2rag"
author = project_copyright = "The kg2rag developers"
release = version = kg2rag.__version__
extensions = ["sphinx.ext.autodoc", "myst_nb", "sphinx_design"]
root_doc = "index"
default_role = "literal"
# The latter: attributes of one name in several classes.
suppress_warnings = [
    "myst.strikethrough",
    "ref.python",
]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = (
    "off"  # notebooks are committed with their outputs, which `make test` compares
)
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "kg2rag"
html_static_path = [str(Path(__file__).parent / "_static")]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars: dict[str, list[str]] = {
    page: [] for page in ("index", "quickstart", "concepts")
}
html_theme_options = {
    "show_prev_next": False,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {
        page: ["page-toc"]
        for page in ("docs/*", "api/*", "README", "quickstart", "concepts")
    },
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
}


def setup(app: Any) -> None:
    """Docstrings are read as this project writes them."""
    app.connect("autodoc-process-docstring", docstrings.process)
