"""Types of an expression: each node gets its type, each name its meaning, each call its overloads."""
