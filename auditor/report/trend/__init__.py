"""The history of runs: one small file a run, how long causes have been there, and which kinds became noisy."""
