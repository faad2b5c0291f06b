"""The expression language of validation rules, alone: text in, values and costs out.

No schema and no rule lives here, only the language and the libraries that the server adds to it. A text goes through
lexer, parser (macros become comprehensions at once, because their cost does) and checker; the checked tree is evaluated
by the reference interpreter, which counts cost as the server does. Source: cel-go v0.29.2; k8s.io/apiserver pkg/cel.
"""
