"""CEL, the language of validation rules: from text to values and costs.

This package knows no schemas and no rules, only the language and the libraries that the server adds to it. A text goes
through lexer, parser (which expands macros to comprehensions, as costs depend on it) and checker; the checked tree is
evaluated by the reference interpreter, which counts cost as the server does. Source: cel-go v0.29.2; k8s.io/apiserver
pkg/cel.
"""
