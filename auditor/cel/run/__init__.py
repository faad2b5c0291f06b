"""The interpreter: runs a checked expression as the server does, and counts its cost."""
