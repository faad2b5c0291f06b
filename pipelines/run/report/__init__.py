"""What the commands that read a stored report do."""
