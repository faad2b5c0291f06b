"""From the text of an expression to its tree, or to the errors of an invalid text.

`lexer` makes tokens and reads constants, `parser` builds the `ast` and expands macros.
"""
