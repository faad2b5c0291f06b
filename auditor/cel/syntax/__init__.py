"""From the text of an expression to its tree, or to the errors of an invalid text.

`lexer` makes tokens, `parser` builds the `ast` and expands macros, `literals` parses constants. `recovery` and
`fragments` run only after the parser has failed: they reproduce the messages of the server's parser.
"""
