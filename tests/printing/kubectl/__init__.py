"""Commands that kubectl was asked against a real server, and what it printed."""
