"""The command line: one module for each command, options, the configuration file; no logic."""
