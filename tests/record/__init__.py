"""What all commands answer over all reference data, to hold two commits against each other."""
