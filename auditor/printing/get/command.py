"""``kubectl get`` for any store that can list and get objects: arguments, selection, output, errors, exit code.

Source: kubectl pkg/cmd/get/get.go, get_flags.go; cli-runtime pkg/genericclioptions/print_flags.go.
"""

from __future__ import annotations

import datetime
import os
from collections import deque
from typing import TYPE_CHECKING

from auditor.printing.arguments import NO_RESOURCE, UsageError, read_arguments
from auditor.printing.discovery import UnknownResource
from auditor.printing.get.fetch import Fetch, Unrecognized
from auditor.printing.get.printer import ObjectPrinter
from auditor.printing.get.server_errors import ConnectionClosed, NotShown, StatusError
from auditor.printing.outputs import OutputFormat, RequestRefused, check_options
from auditor.printing.sorting import Unsortable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.printing.arguments import Wanted
    from auditor.printing.get.options import Found, GetOptions, Store


def get(store: Store, options: GetOptions, out: Callable[[str], None], err: Callable[[str], None]) -> int:
    """Run the command; return its exit code.

    Args:
        out, err: Called with text for standard output and standard error.
    """
    return _Get(store, options, out, err).run()


class _Get:
    """One run of the command."""

    def __init__(
        self, store: Store, options: GetOptions, out: Callable[[str], None], err: Callable[[str], None]
    ) -> None:
        self.store = store
        self.options = options
        self.err = err
        self.fetch = Fetch(store, options, err)
        self.errors = self.fetch.errors
        self.printer = ObjectPrinter(store, options, out, err, errors=self.errors)

    def run(self) -> int:
        options = self.options
        if not options.args:
            advice = "name a kind; `auditor kinds DUMP` prints them, `auditor query -h` the options"
            return self.refuse(advice) if options.hints else self.refuse(NO_RESOURCE.removesuffix("\n"), lead="")
        try:
            check_options(options)
            wanted = read_arguments(
                self.store.discovery,
                options.args,
                selective=bool(options.labels or options.fields),
                all_namespaces=options.across or (options.all_namespaces and bool(options.namespace)),
                warn=lambda text: self.err(text + "\n"),
                command="auditor query DUMP" if options.hints else "kubectl get",
            )
            form = self.form(wanted)
            refused = self.print(form, wanted, self.fetch.fetch(wanted))
        except RequestRefused as error:
            return self.refuse(str(error), *error.more)
        except UsageError as error:
            return self.refuse(str(error))
        except UnknownResource as error:
            self.refuse(str(error), *(self.hint(error) if options.hints else ()))
            if lost := options.why_unknown():
                self.err(f"note: {lost}\n")
            return 3 if lost else 1
        except Unsortable as error:
            is_table = options.output in ("", "wide")
            what = "[][][]reflect.Value" if is_table else "*unstructured.Unstructured"
            stamp = datetime.datetime.now(datetime.UTC).strftime("%m%d %H:%M:%S.%f")
            self.err(
                f"F{stamp} {os.getpid():7d} sorter.go:{375 if is_table else 329}] Field {error.path} in {what} is an "
                f"unsortable type: interface, err: {error}\n"
            )
            return 1
        for failed in self.errors:
            if isinstance(failed, NotShown):
                self.err(f"error: {failed.message}\n")
            elif isinstance(failed, Unrecognized):
                lead = "" if form.is_table or len(self.errors) > 1 or refused is not None else "error: "
                self.err(f"{lead}{failed.message}\n")
            elif isinstance(failed, ConnectionClosed):
                self.err(f"Unable to connect to the server: {failed.message}\n")
            else:
                reason = f" ({failed.reason})" if failed.reason else ""
                self.err(f"Error from server{reason}: {failed.message}\n")
        if options.hints:
            for hint in dict.fromkeys(failed.hint for failed in self.errors if failed.hint):
                self.err(f"hint: {hint}\n")
        if refused is not None:
            more = (*refused.more, "\n") if refused.more and self.errors else refused.more
            self.refuse(str(refused), *more, lead="" if self.errors else "error: ")
        if refused is not None or any(not isinstance(failed, NotShown) for failed in self.errors):
            return 1
        return 3 if self.printer.left_out else 0

    def print(self, form: OutputFormat, wanted: Wanted, found: Iterator[Found]) -> RequestRefused | None:
        """Print the objects; return why they cannot be printed in this form."""
        if self.options.answer is not None:
            self.printer.left_out += self.options.answer(found, self.options, self.printer.out, self.err)
            return None
        groups = list(found)
        try:
            if self.options.count_by:
                self.printer.count_by(groups)
            elif self.options.count:
                self.printer.count(groups)
            else:
                self.printer.print(form, wanted, groups)
        except RequestRefused as error:
            return error
        except StatusError as error:
            self.errors.append(error)
        return None

    def form(self, wanted: Wanted) -> OutputFormat:
        """Return the output format; a missing name is reported before an unknown format."""
        if self.options.subresource and wanted.kinds:
            raise RequestRefused("subresource cannot be used when bulk resources are specified")
        try:
            return OutputFormat(self.options)
        except RequestRefused:
            if wanted.single:
                deque(self.fetch.fetch(wanted), 0)
                if self.errors:
                    raise self.errors.pop() from None
            raise

    def refuse(self, text: str, *more: str, lead: str = "error: ") -> int:
        for line in (f"{lead}{text}\n", *more):
            self.err(line)
        return self.options.usage_code

    def hint(self, error: UnknownResource) -> tuple[str, ...]:
        if advice := self.store.discovery.advice(error.name):
            return tuple(f"{line}\n" for line in advice)
        known = sorted({resource.group_resource for resource in self.store.discovery.resources if resource.is_stored})
        return (f"kinds here: {', '.join(known)}\n",) if len(known) <= 30 else ()
