"""How Sphinx makes the documents into a site: `make docs-html`."""

project = "auditor"
author = "the maintainers of auditor"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "auditor"
myst_heading_anchors = 3
exclude_patterns = ["_build"]
