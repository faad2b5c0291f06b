"""No command lets content act on the terminal: every command of the program, over inputs that try to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from auditor.output.formats.registry import FORMATS
from pipelines.cli.main import cli
from tests.fuzz.hostile.documents import hostile_folder
from tests.fuzz.hostile.terminal import on_terminal
from tests.fuzz.hostile.texts import ATTACK, faults_of

if TYPE_CHECKING:
    from pathlib import Path

_QUERIES = (
    ("ws",), ("ws", "-A", "-o", "wide", "-L", ATTACK, "-L", "l", "--show-labels"), ("ws", "-o", "name"), ("ws", "-o", "csv"),
    ("ws", "-o", "json"), ("ws", "-o", "yaml"), ("ws", "-o", "ndjson"), ("ws", "-o", "parquet"), ("ws,secrets", "--show-kind"),
    ("ws", "-o", "jsonpath={range .items[*]}{.metadata.name}{.spec}{end}"), ("ws", "-o", "jsonpath={.items[0].spec[0]}"),
    ("ws", "-o", "custom-columns=A:.metadata.name,B:.spec.a"), ("ws", "--sort-by", ".spec.a"), ("ws", "--explain"), ("ws", "--explain", "--where", "spec.a == '\n\x85Next: nothing to do.'"),
    ("ws", ATTACK), (ATTACK,), ("ws", "--as-server"), ("ws", "--where", "self.spec.a.startsWith('x')"), ("ws", "--where", "a b\nc"),
    ("ks",), ("vs",), ("ps",), ("gs",), ("nope",), ("ws", "--as", "stored"), ("ws", "--count"), ("pods",), ("secrets",),
    ("ws", "--field-selector", f"spec.a={ATTACK}"), ("ws", "-l", ATTACK), ("ws", "--server-print=false"), ("all",),
)  # fmt: skip
"""What is asked of a dump and of a report."""
_AUDITS = tuple(
    ("audit", f"{{{dump}}}", "--report", "out", "--force", "--fail-on", "never", "--jobs", "1")
    for dump in ("export", "snapshot", "etcdctl", "archive", "garbage")
)
_REPORTS = ("report", "report-export", "report-upgrade", "report-fleet", "report-diff")
_TABLES = ("table", "wide", "json", "yaml", "ndjson", "csv", "markdown")
_FORMATS = ("json", "html", "sarif", "junit", "codequality", "github", "github-summary", "markdown", "csv", "ndjson", "prometheus",
            "openreports")  # fmt: skip
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "accept": (
        ("accept", "12345678", "--reason", ATTACK, "--until", "2099-01-01", "--file", "accept.yaml", "--owner", ATTACK),
        ("accept", ATTACK, "--reason", "x", "--until", "2099-01-01", "--report", "report", "--file", "accept.yaml"),
        ("accept", "1", "--reason", "x", "--until", ATTACK, "--name", ATTACK),
    ),
    "changes": (
        *(("changes", "report-upgrade", "-o", form) for form in ("table", "json", "ndjson", "markdown")),
        ("changes", "report"), ("changes", "report-upgrade", ATTACK), ("changes", "{garbage}"),
    ),
    "completion": (("completion", "bash"), ("completion", "zsh"), ("completion", "fish")),
    "crds export": (
        *(("crds", "export", "{snapshot}", "-o", form) for form in ("yaml", "json", "ndjson")),
        ("crds", "export", "{export}"), ("crds", "export", "{garbage}"), ("crds", "export", "{export}", "--name", ATTACK),
    ),
    "findings": (
        *(("findings", report, "--color", "never", "-o", form) for report in _REPORTS for form in _TABLES),
        ("findings", "report", ATTACK, "--color", "never"), ("findings", "report", "--kind", ATTACK, "--color", "never"), ("findings", "{garbage}"),
        ("findings", "report-export", "--against", "report"), ("findings", "report", "--against", "report-export", "-o", "ndjson"),
    ),
    "releases": (
        ("releases",), ("releases", "1.37", "1.38"), ("releases", "-o", "json"), ("releases", ATTACK, "1.38"),
    ),
    "report": (
        *(("report", report, "-o", form) for report in _REPORTS for form in _FORMATS),
        ("report", "report", "-o", f"csv=missing/{ATTACK}"), ("report", "{garbage}", "-o", "markdown"),
    ),
    "summary": (
        *(("summary", report, "--color", "never", "-o", form) for report in _REPORTS for form in _TABLES),
        ("summary", "{garbage}"), ("summary", "report", "--cluster", ATTACK, "--color", "never"),
    ),
    "trend": (("trend", "history", "--color", "never"), ("trend", "history", "-o", "json"), ("trend", "{garbage}")),
    "audit": (
        *_AUDITS,
        ("audit", "{folder}", "--report", "out-folder", "--jobs", "1"),
        ("audit", "{snapshot}", "--report", "out-diff", "--diff", "report", "--jobs", "1"),
        ("audit", "{etcdctl}", "--report", "out-diff", "--diff", "report", "--only-new", "--jobs", "1"),
        ("audit", "{export}", "--crds", "{garbage}", "--report", "out2", "--jobs", "1"),
        ("audit", "fleet/*/dump.json", "--cluster-name", "{1}", "--report", "out-fleet", "--force", "--jobs", "1"),
        ("audit", "missing" + ATTACK, "--report", "out3", "--jobs", "1"),
    ),
    "crds check": (("crds", "check", "{crds}", "--costs"), ("crds", "check", "{crds}", "-o", "json"), ("crds", "check", "{garbage}")),
    "crds diff": (
        *(("crds", "diff", "{export}", "{crds}", "-o", form) for form in ("text", "wide", "yaml", "github", "markdown")),
        ("crds", "diff", "{crds}", "{snapshot}"), ("crds", "diff", "{garbage}", "{crds}"), ("crds", "diff", "git:" + ATTACK, "{crds}"),
    ),
    "diff": (("diff", "report", "report-export"), ("diff", "report-export", "report", "-o", "ndjson"), ("diff", "report", "{garbage}")),
    "refs": (("refs", "{export}", "--dangling"), ("refs", "{snapshot}", "--dangling"), ("refs", "{export}", "ws/o1", "-n", "d"), ("refs", "{snapshot}", "--dangling", "-o", "json"), ("refs", "{snapshot}", "ws"), ("refs", "{export}", "ws", "-o", "json")),
    "gates check": (("gates", "check", "{crds}", "--sidecar", "sidecar.yaml"), ("gates", "check", "{garbage}")),
    "gates list": (("gates", "list", "{export}", "--sidecar", "sidecar.yaml"), ("gates", "list", "{export}", "-o", "json")),
    "kinds": (("kinds", "{export}"), ("kinds", "{snapshot}", "--by", "namespace"), ("kinds", "report", "-o", "wide"), ("kinds", "{snapshot}", "--deleting")),
    "events": (("events", "{export}"), ("events", "{snapshot}", "-A", "-o", "wide"), ("events", "{snapshot}", "--for", ATTACK), ("events", "{garbage}")),
    "explain": (
        ("explain", "{export}", "ws"), ("explain", "{export}", "ws.spec", "--recursive"), ("explain", "{export}", ATTACK),
        *(("explain", target, path, "--values") for target in ("{export}", "report", "{snapshot}") for path in ("ws", "ws.spec", "ks", "ws.metadata.name")),
        ("explain", "{snapshot}", "ws", "--values", "-o", "json"),
    ),
    "gates simulate": (("gates", "simulate", "{manifest}", "--crds", "{crds}", "--sidecar", "sidecar.yaml"),),
    "query": (
        *(("query", target, *asked) for target in ("{export}", "{snapshot}", "report") for asked in _QUERIES),
        ("query", "{archive}", "ws"), ("query", "{garbage}", "ws"),
        *(("query", "{export}", "--unhealthy", "-o", form) for form in _TABLES), ("query", "{snapshot}", "--certificates"),
    ),
    "sql": (
        ("sql", "a={snapshot}", "report", "SELECT * FROM a.ws"), ("sql", "a={snapshot}", "b={export}", "\\d"),
        ("sql", "a={snapshot}", "report", "FROM ws"), ("sql", "{export}", "missing" + ATTACK, "SELECT 1"),
        *(("sql", target, statement, "-o", form) for target in ("{export}", "{snapshot}", "report") for statement in ("SELECT * FROM ws", "SELECT * FROM objects") for form in _TABLES),
        *(("sql", "report", f"SELECT * FROM {table}", "-o", "table") for table in ("findings", "causes", "keys")),
        ("sql", "{snapshot}", "SELECT * FROM keys", "-o", "wide"), ("sql", "{snapshot}", "\\d ws"), ("sql", "{snapshot}", "\\d *"),
        ("sql", "{garbage}", "SELECT * FROM ws"), ("sql", "{export}", f"SELECT '{ATTACK}' FROM ws"), ("sql", "{export}", ATTACK), ("sql", "{export}", "\\d " + ATTACK),
    ),
    "show": (
        *(("show", target, key) for target in ("report", "{snapshot}") for key in ("/registry/ex.com/ws/d/bad", "/registry/ex.com/ws/d/" + ATTACK.replace("\x00", ""), "/registry/" + ATTACK)),
        ("show", "{export}", "ws"), ("show", "report", "ws", "-A"), ("show", "{snapshot}", ATTACK), ("show", "{snapshot}", "ws", "--writers"),
        ("show", "report", "/registry/ex.com/ws/d/bad", "-o", "json"), ("show", "{export}", "d/bad"), ("show", "{export}", "nope" + ATTACK),
    ),
    "sources": (("sources",), ("sources", "-o", "json")),
    "tables": (
        *(("tables", target, f"tables-{number}") for number, target in enumerate(("{export}", "{snapshot}", "{archive}", "{garbage}", "report", "report-fleet"))),
        ("tables", "{export}", "tables-a", "ws", "-o", "json"), ("tables", "{snapshot}", "tables-b", "--as", "stored"), ("tables", "{export}", "tables-c", ATTACK),
        ("tables", "{export}", "missing/" + ATTACK.replace("\x00", "")), ("tables", "{export}", "report"),
    ),
    "upgrade": (
        ("upgrade", "{snapshot}", "--new-crds", "{new}", "--report", "up", "--force", "--jobs", "1"),
        ("upgrade", "{export}", "--new-crds", "{new}", "--missing", "delete", "--report", "up2", "--force", "--jobs", "1"),
        ("upgrade", "{garbage}", "--new-crds", "{garbage}", "--report", "up3", "--jobs", "1"),
    ),
    "validate": (("validate", "{manifest}", "--crds", "{crds}"), ("validate", "{export}", "-o", "json"), ("validate", "{garbage}")),
    "version": (("version",),),
    "history": (("history", "{snapshot}", "ws"), ("history", "{snapshot}", "-o", "ndjson"), ("history", "{snapshot}", "--diff"), ("history", "{snapshot}", ATTACK), ("history", "{export}", "ws")),
}  # fmt: skip


def _leaves(group: click.Group, before: str = "") -> set[str]:
    found = set()
    for name, command in group.commands.items():
        path = f"{before}{name}"
        found |= _leaves(command, f"{path} ") if isinstance(command, click.Group) else {path}
    return found


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == _leaves(cli)


def test_every_format_of_a_stored_report_is_tried() -> None:
    assert set(_FORMATS) == set(FORMATS)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("hostile")
    inner = folder / "inputs"
    inner.mkdir()
    names = {name: str(path) for name, path in hostile_folder(inner).items()} | {"folder": str(inner)}
    for cluster in (ATTACK.replace("/", "_")[:40], "one"):
        (folder / "fleet" / cluster).mkdir(parents=True)
        (folder / "fleet" / cluster / "dump.json").write_bytes((inner / names["etcdctl"]).read_bytes())
    (folder / "sidecar.yaml").write_text(
        'ws.ex.com:\n  component: c\n  gates:\n  - name: "G\\e[2J\\n"\n    stage: "x\\n"\n'
    )
    for report, dump in (("report", "snapshot"), ("report-export", "export")):
        code, shown = on_terminal(
            ["audit", names[dump], "--report", report, "--fail-on", "never", "--jobs", "1"], folder
        )
        assert code in (0, 3), shown.decode(errors="replace")
    fleet = ("fleet/*/dump.json", "--cluster-name", "{1}", "--history", "history", "--report", "report-fleet")
    for arguments in (
        ("upgrade", names["snapshot"], "--new-crds", names["new"], "--report", "report-upgrade"),
        ("audit", *fleet),
        ("audit", names["snapshot"], "--report", "report-diff", "--diff", "report-export"),
    ):
        code, shown = on_terminal([*arguments, "--fail-on", "never", "--jobs", "1"], folder)
        assert code in (0, 3), shown.decode(errors="replace")
    return folder, names


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "command",
    [pytest.param(one, marks=[pytest.mark.slow] if len(COMMANDS[one]) > 6 else []) for one in sorted(COMMANDS)],
)
def test_content_does_not_act_on_the_terminal(command: str, inputs: tuple[Path, dict[str, str]]) -> None:
    folder, names = inputs
    faults = []
    for arguments in COMMANDS[command]:
        filled = [names.get(one[1:-1], one) if one.startswith("{") else one for one in arguments]
        code, shown = on_terminal(filled, folder)
        wrong = [*faults_of(shown), *([f"exit code {code}: {shown[-2000:]!r}"] if code not in (0, 1, 2, 3) else [])]
        faults += [f"{' '.join(arguments)!r}: {one}" for one in wrong]
    assert faults == []


@pytest.mark.parametrize(
    "config", ['{"audit": {"{}": 1}}', '{"audit": 1, "{}": {}}', '{"{}": 1}', '{"audit": {"jobs": "{}"}}', "{}"]
)
def test_configurations_do_not_act_on_the_terminal(config: str, tmp_path: Path) -> None:
    text = ATTACK.encode("unicode_escape").decode().replace("\\x", "\\u00")
    name = tmp_path / f"auditor{ATTACK.replace('/', '_')[:40]}.yaml"
    name.write_text(config.replace("{}", text))
    code, shown = on_terminal(["--config", str(name), "audit", "x.json", "--report", "out"], tmp_path)
    assert (code, faults_of(shown)) == (2, [])
