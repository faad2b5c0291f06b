"""The command line: one module for each command, options, the configuration file; no logic."""

import gc

gc.set_threshold(100_000, 20, 20)  # modules and definitions are allocated first and live until the end
