"""Imported first by the process that workers are forked from: Ctrl-C is its parent's business, also while it loads."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
for _number in (signal.SIGTERM, signal.SIGHUP):  # cleaning up is the parent's business as well
    if signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
