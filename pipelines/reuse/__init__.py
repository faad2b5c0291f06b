"""`--since`: rows of an earlier report are reused for each object that has not changed."""
