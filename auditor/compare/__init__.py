"""Two reports held against each other."""
