"""A report as a page: complete without a script, with a style sheet and one script of its own, and no other resource.

`page` renders the template with Jinja2, `charts` draws SVG, `data` packs the rows that the script shows.
"""
