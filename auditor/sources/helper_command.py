"""Commands of the user for steps that cannot be done offline: unwrapping a key, converting objects.

The command reads standard input and writes its answer to standard output; standard error is dropped, as it might quote
a secret. No shell is used. The dump determines the number and input of calls, so a command has limits: seconds of a
call, bytes of an answer, number of calls, and total seconds of failing calls. At the end of a call its whole process
group is ended.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Final

from auditor.base.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO


CALLS: Final = 100_000
"""Largest number of calls of one command in one process."""

FAILING_SECONDS: Final = 120.0
"""Limit of the total seconds of failing calls; after it the command is not called any more."""

_BLOCK: Final = 1 << 16


class HelperFailed(Exception):
    """A command returned no answer; the text says why."""


class HelperCommand:
    """A command of the user.

    Args:
        option: Option that names the command, for messages.
        command: As in a shell, but without one.
        name: Its name in messages, such as ``the KMS command``.
        seconds: Largest number of seconds of a call.
        most: Largest number of bytes of an answer.
        calls: Largest number of calls.
        failing_seconds: Limit of the total seconds of failing calls.

    Raises:
        PlanError: The command cannot be split into words, or is empty.
    """

    def __init__(
        self,
        option: str,
        command: str,
        *,
        name: str,
        seconds: float,
        most: int,
        calls: int = CALLS,
        failing_seconds: float = FAILING_SECONDS,
    ) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise PlanError(option, f"cannot be split into words: {error}") from None
        if not self._words:
            raise PlanError(option, "empty", "a command")
        self._name = name
        self._seconds = seconds
        self._most = most
        self._calls = calls
        self._calls_left = calls
        self._failing_seconds = failing_seconds
        self._failed = 0.0

    def ask(self, data: bytes, environment: Mapping[str, str] | None = None) -> bytes:
        """Return the answer of the command to some bytes.

        Args:
            data: Its standard input.
            environment: Added to that of this process.

        Raises:
            HelperFailed: It cannot be run, failed, answered too much, too late or nothing, or was called too often.
        """
        if self._failed >= self._failing_seconds:
            raise HelperFailed(f"{self._name} is not asked any more: failing calls took {self._failed:.0f} seconds")
        if not self._calls_left:
            raise HelperFailed(f"{self._name} is not asked any more: it was asked {self._calls} times")
        self._calls_left -= 1
        started = time.monotonic()
        try:
            return self._ask(data, environment or {}, started + self._seconds)
        except HelperFailed:
            self._failed += time.monotonic() - started
            raise

    def _ask(self, data: bytes, environment: Mapping[str, str], deadline: float) -> bytes:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                self._words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, **{name: text.replace("\0", "") for name, text in environment.items()}},
            )
        except OSError as error:
            raise HelperFailed(f"{self._name} cannot be run: {error.strerror}") from None
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            answer = _exchange(process.stdin, process.stdout, data, most=self._most, deadline=deadline)
            if len(answer) > self._most:
                raise HelperFailed(f"{self._name} gave more than {self._most} bytes")
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired):
            raise HelperFailed(f"{self._name} gave no answer within {self._seconds:g} seconds") from None
        finally:
            with contextlib.suppress(OSError):  # the whole group has ended already
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # unread input is dropped
                    stream.close()  # type: ignore[union-attr]
        if code:
            raise HelperFailed(f"{self._name} ended with {code}")
        if not answer:
            raise HelperFailed(f"{self._name} gave 0 bytes")
        return answer


def _exchange(stdin: IO[bytes], stdout: IO[bytes], data: bytes, *, most: int, deadline: float) -> bytes:
    """Write the input and read the answer at the same time; stop at one byte more than `most`.

    Raises:
        TimeoutError: The deadline passed.
    """
    answer = bytearray()
    unsent = memoryview(data)
    os.set_blocking(stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        selector.register(stdin, selectors.EVENT_WRITE)
        while stdout in (key.fileobj for key in selector.get_map().values()):
            ready = selector.select(deadline - time.monotonic())
            if time.monotonic() >= deadline:
                raise TimeoutError
            for key, _ in ready:
                if key.fileobj is stdout:
                    block = os.read(stdout.fileno(), min(_BLOCK, most + 1 - len(answer)))
                    answer += block
                    if not block or len(answer) > most:
                        return bytes(answer)
                    continue
                try:
                    unsent = unsent[os.write(stdin.fileno(), unsent[:_BLOCK]) :] if unsent else unsent
                except BrokenPipeError:  # it does not read all its input
                    unsent = unsent[:0]
                if not unsent:
                    selector.unregister(stdin)
                    stdin.close()
    return bytes(answer)
