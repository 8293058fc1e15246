"""How the site is built: guides in Markdown, and API pages from the docstrings of the packages."""

import re
from collections.abc import Mapping
from importlib import metadata

from sphinx.application import Sphinx

project = "Keyturn"
author = "The Keyturn developers"
copyright = author
release = metadata.version("keyturn")

extensions = ["myst_parser", "sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"{project} {release}"
# The examples are programs with notes of their own, and not pages; the lists of modules repeat what the pages nest.
exclude_patterns = ["_build", "examples", "api/**/modules.rst"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# One page a module, written by the build into api/ and not kept.
apidoc_modules = [
    {"path": f"../{path}", "destination": f"api/{path}", "separate_modules": True, "module_first": True}
    for path in ("kernel/keyturn", "kernel/keyturn_sql", "specs/keyturn_specs")
]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
# A name is described where it is defined, not where it is offered again.
autodoc_default_options = {"ignore-module-all": True, "members": True, "show-inheritance": True, "undoc-members": True}
napoleon_numpy_docstring = False
napoleon_use_ivar = True


def plain_references(
    app: Sphinx, what: str, name: str, thing: object, options: Mapping[str, object], lines: list[str]
) -> None:
    """Names what the attributes of a machine refer to in the documentation of python-statemachine, without a link."""
    if what == "attribute":
        lines[:] = [re.sub(r":ref:`([^`]+)`", r"\1", line) for line in lines]


def setup(app: Sphinx) -> None:
    """Called by Sphinx once."""
    app.connect("autodoc-process-docstring", plain_references)
