"""Options that several commands share, and which options a configuration may set."""
