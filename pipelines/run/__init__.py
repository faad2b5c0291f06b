"""One module for each command: what the command does."""
