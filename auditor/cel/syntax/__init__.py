"""From the text of an expression to its tree, and what is wrong with a text that is no expression.

`lexer` cuts tokens, `parser` builds the `ast` with macros expanded, `literals` reads constants. `recovery` and
`fragments` run only after the parser has failed: they reproduce the messages of the server's parser.
"""
