"""Templates of Go's package text/template over JSON values, as ``kubectl get -o go-template`` runs them.

In: the text of a template, JSON values as `auditor.golang.jsontext` decodes them. Out: text, or the error in Go's
words. `tokens` reads, `parse` makes nodes of tokens, `run` carries them out, `functions` has what templates can call.

Source: text/template, text/template/parse; the functions ``exists`` and ``base64decode`` are kubectl's.
"""

from auditor.golang.template.errors import TemplateError
from auditor.golang.template.run import GoTemplate, compile_go_template

__all__ = ["GoTemplate", "TemplateError", "compile_go_template"]
