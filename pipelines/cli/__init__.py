"""The command line: one module a command, options, the configuration file; no logic."""
