"""Imported first by the process that workers are forked from: Ctrl-C is its parent's business, also while it loads."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
