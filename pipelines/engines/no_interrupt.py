"""Imported first by the fork server of workers: it ignores Ctrl-C, which its parent handles, also while it loads."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
for _number in (signal.SIGTERM, signal.SIGHUP):  # the parent also cleans up
    if signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
