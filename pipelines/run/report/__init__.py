"""The commands that read a stored report."""
