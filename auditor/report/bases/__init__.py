"""Which earlier report each cluster is compared with, and what of it that report cannot tell."""
