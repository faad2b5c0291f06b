"""Which earlier report each cluster is compared with, and which objects of it that report has not judged."""
