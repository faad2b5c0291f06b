"""Errors are values that survive pickling."""

import errno
import pickle

import pyarrow as pa
import pytest

from auditor.base import errors

CLASSES = [
    one
    for one in vars(errors).values()
    if isinstance(one, type) and issubclass(one, errors.AuditorError) and one.__module__ == errors.__name__
]


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_compares_by_value_and_survives_pickling(error):
    one = error("dump.db", "3 pages", "4 pages", "take another snapshot")
    assert one == error("dump.db", "3 pages", "4 pages", "take another snapshot")
    assert one != error("dump.db", "2 pages", "4 pages", "take another snapshot")
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert type(again) is error


def test_says_where_what_expected_and_what_to_do():
    text = str(errors.UnknownDump("x.bin", "first bytes 00 01", "an etcd snapshot", "see `auditor sources`"))
    assert text == "x.bin: first bytes 00 01; expected an etcd snapshot; see `auditor sources`"
    assert str(errors.PlanError("", "no dump given")) == "no dump given"


def test_different_kinds_are_never_equal():
    assert errors.PlanError("a", "b") != errors.SourceError("a", "b")


ADVICE = "raise the limit of memory (--memory, ulimit -v, that of the container), or give --jobs 1"
MEMORY = f"Cannot allocate memory; {ADVICE}"
PROCESSES = f"{ADVICE}; or that of processes and threads (ulimit -u)"
UNMAPPED = f"failed to map segment from shared object; {PROCESSES}"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "snap/db"), "snap/db: Permission denied"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", b"\xff"), "\udcff: No such file or directory"),
        (
            OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device"),
            "No space left on device; free disk space, or write elsewhere (--report, $TMPDIR)",
        ),
        (
            FileNotFoundError(errno.ENOENT, "Failed to open local file '/r/causes.parquet'. Detail: [errno 2] No such"),
            "Failed to open local file '/r/causes.parquet'. Detail: [errno 2] No such",
        ),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), MEMORY),
        (MemoryError("malloc of size 64 failed"), MEMORY),
        (ImportError("re2.so: failed to map segment from shared object"), f"re2.so: {UNMAPPED}"),
        (RuntimeError("can't start new thread"), f"can't start new thread; {PROCESSES}"),
        (
            pa.lib.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"),
            f"Unknown error: Failed to launch worker thread: Resource temporarily unavailable; {PROCESSES}",
        ),
    ],
)
def test_what_the_system_refuses_is_reported_in_its_words(error, text):
    assert str(errors.refusal(error)) == text


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EBADF, "Bad file descriptor"),
        OSError("no number"),
        ValueError("x"),
        ImportError("No module named 'x'"),
        ValueError("Cannot allocate memory"),
    ],
)
def test_what_may_be_our_fault_is_no_refusal(error):
    assert errors.refusal(error) is None
