"""The plan of an upgrade as a shell script: each definition by itself, with copies of what is there and ways back."""

from __future__ import annotations

import hashlib
import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from auditor.golang.jsontext import encode
from auditor.upgrade.migration import APPLY, RECREATE

if TYPE_CHECKING:
    from collections.abc import Iterator


_END: Final = "END_OF_DEFINITION"
_HEAD: Final = """\
#!/bin/sh
# Written by `auditor upgrade --plan`. Carries out the upgrade, one definition after the other. A definition stops at
# the first command that fails, and prints the way back; the others go on. The end names what was left out, with code 1.
# The definitions of today are saved in a folder beside this file. It can be run again from the start.
# Needs kubectl and the rights to read and write these kinds and definitions, and to read the Services and
# EndpointSlices of their conversion webhooks.
set -u
umask 077
kubectl() { command kubectl --request-timeout=60s "$@"; }
saved=$(cd "$(dirname "$0")" && pwd)/$(basename "$0" .sh)-saved-DIGEST
mkdir -p "$saved" || exit 1
left=

begin() {  # number and name of a definition
  name=$2 marker=$saved/$1-$2 step='read the definition' way_back=
  trap 'stopped $?' EXIT
  case "$left " in *" $name "*) echo "$name: left out as before" >&2; exit 1;; esac
  look
  copy=$marker-$uid.json
}

look() {
  live=$(kubectl get crd "$name" --ignore-not-found -o jsonpath='{.metadata.uid} {.metadata.generation}')
  uid=${live% *} generation=${live#* }
}

was() {  # applied or done: whether an earlier run came that far, and the definition is not an older one since
  [ -s "$marker.$1" ] || return 1
  { read -r was_uid was_generation; read -r was_copy; } < "$marker.$1"
  [ "$uid" = "$was_uid" ] && [ "$generation" -ge "$was_generation" ] || return 1
  copy=$was_copy
}

save() {
  if [ -z "$uid" ]; then echo "$name: the server has no such definition" >&2; return 1; fi
  if [ ! -s "$copy" ]; then
    kubectl get crd "$name" -o json > "$marker.whole"
    sed '/^        "resourceVersion": "/d' "$marker.whole" > "$marker.new"
    mv "$marker.new" "$copy"
    rm -f "$marker.whole"
  fi
}

say() {
  step=$1
  printf '%s\\n' "$name: $step"
}

applied() {
  look
  printf '%s\\n%s\\n' "$live" "$copy" > "$marker.applied"
}

stopped() {  # code
  [ "$1" -ne 0 ] || return 0
  printf '%s\\n' "$name: stopped at: $step" >&2
  if [ -z "$way_back" ]; then
    echo "  the server confirmed no change of it" >&2
  else
    echo "  the way back to the definition of before, in a shell:" >&2
    printf '%s\\n' "    (set -e; copy='$copy' marker='$marker'" >&2
    printf '%s\\n' "$way_back" ')' | sed 's/^/    /' >&2
  fi
}

ended() {  # code and name
  [ "$1" -eq 0 ] || left="$left $2"
}
"""
_TAIL: Final = """\
if [ -n "$left" ]; then
  echo "left out:$left" >&2
  exit 1
fi
echo "nothing was left out"
"""


def plan_script(document: dict[str, Any]) -> str:
    """Return a plan, as `plan_document` returns it, as a script for sh."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    lines = [_HEAD.replace("DIGEST", digest)]
    for number, definition in enumerate(document["definitions"], 1):
        lines += [f"# {_comment(definition['name'])}", *_definition(number, definition), ""]
    return "\n".join([*lines, _TAIL])


def _definition(number: int, one: dict[str, Any]) -> Iterator[str]:
    name = shlex.quote(_comment(one["name"]))
    if not one["canBeCarriedOut"]:
        yield f"echo {shlex.quote(_comment(one['name'] + ': no plan: ' + (one['because'] or '')))} >&2"
        yield f"ended 1 {name}"
        return
    if one["note"]:
        yield f"# {_comment(one['note'])}"
    *steps, check = one["steps"]
    last = steps[-1]
    recreates = any(step["do"] == RECREATE for step in steps)
    yield from ("(", "set -e", f"begin {number} {name}")
    yield 'if was done; then echo "$name: was done before"; exit 0; fi'
    yield "if ! was applied; then"
    if last["commands"][0].startswith("kubectl replace"):
        yield "save"
    elif recreates:
        yield 'if [ -n "$uid" ]; then save; fi'
    for step_number, step in enumerate(steps, 1):
        yield f"say {shlex.quote(_comment(f'{step_number}. ' + step['text']))}"
        if step["back"] and step["do"] != APPLY:  # what is refused leaves everything as the step before
            yield f"way_back={_lines(step['back'])}"
        for command in step["commands"]:
            yield from (f"{command} <<'{_END}'", encode(one["manifest"]), _END) if step["do"] == APPLY else (command,)
    yield from ("applied", "fi")
    yield f"say {shlex.quote(f'{len(steps) + 1}. ' + check['text'])}"
    yield f"way_back={_lines(last['back'])}"
    yield from check["commands"]
    yield 'mv "$marker.applied" "$marker.done"'
    yield from (")", f"ended $? {name}")


def _lines(commands: list[str]) -> str:
    return shlex.quote("\n".join(commands))


def _comment(text: str | None) -> str:
    return " ".join((text or "").split())
