"""Imported first by the fork server of workers.

It ignores Ctrl-C, which its parent handles, also while it loads, and gives the environment back that its parent has.
"""

import json
import os
import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
for _number in (signal.SIGTERM, signal.SIGHUP):  # the parent also cleans up
    if signal.getsignal(_number) is not signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
for _name, _value in json.loads(os.environ.pop("_AUDITOR_ENVIRONMENT", "{}")).items():
    if _value is None:
        del os.environ[_name]
    else:
        os.environ[_name] = _value
