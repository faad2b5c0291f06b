"""The documents of the project: their commands are run, their transcripts and reference pages are generated."""
