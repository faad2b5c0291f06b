"""Go's text/template over JSON values, as ``kubectl get -o go-template`` runs it.

Input: the text of a template, and JSON values as `auditor.golang.jsontext` decodes them. Output: text, or Go's error.
`tokens` splits the text, `parse` makes nodes of tokens, `run` executes them, `functions` has the functions that
templates can call.

Source: text/template, text/template/parse; the functions ``exists`` and ``base64decode`` are kubectl's.
"""

from auditor.golang.template.errors import TemplateError
from auditor.golang.template.run import GoTemplate, compile_go_template

__all__ = ["GoTemplate", "TemplateError", "compile_go_template"]
