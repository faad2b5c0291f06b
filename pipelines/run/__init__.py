"""One module a command: what it does, as a chain of stages."""
