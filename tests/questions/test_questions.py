"""Questions that people ask of a dump: what the commands answer is what plain Python says of the same values.

Each question is asked of each form in which people have the cluster. What a form cannot answer ends with an error.
"""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from tests.command import auditor
from tests.questions.shop import FORMS, NEWEST, dump_of, named, objects, steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.questions.shop import Object

NAMES: Final = ("-o", 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\\n"}{end}')
READY: Final = "has(status.conditions) && status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"
ROWS: Final = ("-o", "csv")
NOW: Final = ("--now", NEWEST.isoformat())
PAST: Final = ("snapshot.db", "report")
"""Forms with revisions; a report has those of its dump."""
CERTIFICATES: Final = "kind,namespace,name,field,subject,issuer,expires,names"
REPORT: Final = "report"


class Question(NamedTuple):
    """A question.

    Attributes:
        text: The question.
        command: The command and its arguments; DUMP stands for the dump.
        answer: Returns the lines of the answer, in any order, from the values.
        forms: The forms that can answer it; others end with an error.
        code: The exit code.
        read: Returns the lines of the answer from what the command prints.
    """

    text: str
    command: tuple[str, ...]
    answer: Callable[[], set[str]]
    forms: tuple[str, ...] = (*FORMS, REPORT)
    code: int = 0
    read: Callable[[str], set[str]] = lambda text: set(text.splitlines())


def _where(kind: str, holds: Callable[[Object], Any]) -> Callable[[], set[str]]:
    """Return what names the objects of a kind for which a predicate holds."""
    return lambda: {name if "/" in name else f"/{name}" for name in named(filter(holds, objects(kind)))}


def _is_ready(obj: Object) -> bool:
    conditions = obj.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _counts(values: list[str]) -> set[str]:
    return {f"{values.count(value)},{value}" for value in values}


def _restarts(pod: Object) -> int:
    return max((each["restartCount"] for each in pod["status"].get("containerStatuses", ())), default=0)


def _images() -> list[str]:
    return [container["image"] for pod in objects("Pod") for container in pod["spec"]["containers"]]


def _by_kind() -> set[str]:
    kinds = [obj["kind"] for obj in objects()]
    return {f"{kind} {kinds.count(kind)}" for kind in kinds}


def _numbers_of_kinds(text: str) -> set[str]:
    return {f"{row['kind']} {row['objects']}" for row in json.loads(text)}


def _events_of_a_watch(text: str) -> set[str]:
    read = [json.loads(line) for line in text.splitlines()]
    return {f"{event['type']} {event['object']['metadata']['name']}" for event in read}


def _since_six() -> set[str]:
    """Return the writes of the last six hours: those of new objects, and the two without a time at the end."""
    new = {
        f"ADDED {obj['metadata']['name']}"
        for obj, _ in steps()
        if obj["metadata"]["creationTimestamp"] >= "2026-03-10T06"
    }
    return {*new, "DELETED gone", "MODIFIED settings"}


def _history(kind: str, name: str) -> set[str]:
    """Return the rows of the history of an object."""
    before: Object = {}
    rows = {"revision,object_time,event,group,namespace,name,by,fields"}
    for revision, (obj, is_deleted) in enumerate(steps(), 2):
        if (obj["kind"], obj["metadata"]["name"]) != (kind, name):
            continue
        entries = [] if is_deleted else obj["metadata"].get("managedFields", [])
        writer = max(entries, key=lambda entry: entry["time"], default={})
        created = "" if is_deleted else obj["metadata"]["creationTimestamp"]
        event = "DELETED" if is_deleted else "MODIFIED" if before else "ADDED"
        group = obj["apiVersion"].rpartition("/")[0]
        changed = [] if is_deleted or not before else _changed(before, obj)
        cells = [str(revision), writer.get("time", created), event, group, obj["metadata"]["namespace"], name]
        rows.add(",".join([*cells, writer.get("manager", ""), *(changed or [""])]))
        before = obj
    return rows


def _changed(before: Object, after: Object) -> list[str]:
    parts = [part for part in ("data", "spec") if part in after]
    return [f"{part}.{key}" for part in parts for key in after[part] if before[part].get(key) != after[part][key]]


QUESTIONS: Final = (
    Question("Which widgets are there?", ("query", "DUMP", "widgets", *NAMES), _where("Widget", lambda _: True)),
    Question("Which are in lab?", ("query", "DUMP", "wd", "-n", "lab", *NAMES),
             _where("Widget", lambda obj: obj["metadata"]["namespace"] == "lab")),
    Question("Which widgets are red?", ("query", "DUMP", "widgets", "--field-selector", "spec.color=red", *NAMES),
             _where("Widget", lambda obj: obj["spec"]["color"] == "red")),
    Question("What belongs to the team lab?", ("query", "DUMP", "*", "-l", "team=lab", "-o", "name"),
             lambda: {"configmap/unused", "widget.shop.example.com/top"}),
    Question("Which pods run on big?", ("query", "DUMP", "pods", "--field-selector", "spec.nodeName=big", *NAMES),
             _where("Pod", lambda obj: obj["spec"].get("nodeName") == "big")),
    Question("Which pods are not running?", ("query", "DUMP", "pods", "--field-selector", "status.phase!=Running", *NAMES),
             _where("Pod", lambda obj: obj["status"]["phase"] != "Running")),
    Question("Which pods are not ready?", ("query", "DUMP", "pods", "--where", f"!({READY})", *NAMES),
             _where("Pod", lambda obj: not _is_ready(obj))),
    Question("Which widgets are not ready?", ("query", "DUMP", "widgets", "--where", f"!({READY})", *NAMES),
             _where("Widget", lambda obj: not _is_ready(obj))),
    Question("Which widgets are younger than five days?",
             ("query", "DUMP", "widgets", "--where", "metadata.creationTimestamp > timestamp('2026-03-05T12:00:00Z')", *NAMES),
             _where("Widget", lambda obj: obj["metadata"]["creationTimestamp"] > "2026-03-05T12:00:00Z")),
    Question("Which objects are older than 60 days?",
             ("query", "DUMP", "*", "--where", "metadata.creationTimestamp < timestamp('2026-01-09T12:00:00Z')", *NAMES),
             _where("", lambda obj: obj["metadata"]["creationTimestamp"] < "2026-01-09T12:00:00Z")),
    Question("Which widgets are larger than 8?", ("query", "DUMP", "widgets", "--where", "spec.size > 8", *NAMES),
             _where("Widget", lambda obj: obj["spec"]["size"] > 8)),
    Question("Which widgets have the tag b?",
             ("query", "DUMP", "widgets", "--where", "has(spec.tags) && 'b' in spec.tags", *NAMES),
             _where("Widget", lambda obj: "b" in obj["spec"].get("tags", ()))),
    Question("Which widgets were due in February?",
             ("query", "DUMP", "widgets", "--where", "has(spec.due) && spec.due < timestamp('2026-03-01T00:00:00Z')", *NAMES),
             _where("Widget", lambda obj: obj["spec"].get("due", "9") < "2026-03-01")),
    Question("Which pods restart?",
             ("query", "DUMP", "pods", "--where",
              "has(status.containerStatuses) && status.containerStatuses.exists(c, c.restartCount > 0)", *NAMES),
             _where("Pod", lambda obj: _restarts(obj) > 0)),
    Question("Which pods restart, asked without has()?",
             ("query", "DUMP", "pods", "--where", "status.containerStatuses.exists(c, c.restartCount > 0)", *NAMES),
             _where("Pod", lambda obj: _restarts(obj) > 0), code=3),
    Question("Which pods have this image?",
             ("query", "DUMP", "pods", "--where", "spec.containers.exists(c, c.image == 'example.com/web:1')", *NAMES),
             _where("Pod", lambda obj: obj["spec"]["containers"][0]["image"] == "example.com/web:1")),
    Question("Which images run, and how often?",
             ("query", "DUMP", "pods", "--count-by", ".spec.containers[*].image", *ROWS),
             lambda: {"objects,value"} | _counts(_images())),
    Question("How many objects has each namespace?", ("query", "DUMP", "*", "--count-by", ".metadata.namespace", *ROWS),
             lambda: {"objects,value"} | _counts([obj["metadata"].get("namespace", "<none>") for obj in objects()])),
    Question("Why were there events?", ("query", "DUMP", "events", "--count-by", ".reason", *ROWS),
             lambda: {"objects,value"} | _counts([obj["reason"] for obj in objects("Event")])),
    Question("Who wrote objects?", ("query", "DUMP", "*", "--count-by", ".metadata.managedFields[*].manager", *ROWS),
             lambda: {"objects,value", *_counts(_managers())}),
    Question("How many pods are there?", ("query", "DUMP", "pods", "--count"), lambda: {str(len(objects("Pod")))}),
    Question("Which secrets are for TLS?", ("query", "DUMP", "secrets", "--field-selector", "type=kubernetes.io/tls", *NAMES),
             _where("Secret", lambda obj: obj.get("type") == "kubernetes.io/tls")),
    Question("Which claims are not bound?", ("query", "DUMP", "pvc", "--where", "status.phase != 'Bound'", *NAMES),
             _where("PersistentVolumeClaim", lambda obj: obj["status"]["phase"] != "Bound")),
    Question("Which deployments have too few pods?",
             ("query", "DUMP", "deploy", "--where", "status.readyReplicas < spec.replicas", *NAMES),
             _where("Deployment", lambda obj: obj["status"]["readyReplicas"] < obj["spec"]["replicas"])),
    Question("What is being deleted?", ("query", "DUMP", "*", "--where", "has(metadata.deletionTimestamp)", *NAMES),
             _where("", lambda obj: "deletionTimestamp" in obj["metadata"])),
    Question("What waits for example.com/hold?",
             ("query", "DUMP", "*", "--where", "has(metadata.finalizers) && 'example.com/hold' in metadata.finalizers", *NAMES),
             _where("", lambda obj: "example.com/hold" in obj["metadata"].get("finalizers", ()))),
    Question("What does the deployment web own?",
             ("query", "DUMP", "*", "--where",
              "has(metadata.ownerReferences) && metadata.ownerReferences.exists(o, o.kind == 'Deployment' && o.name == 'web')",
              *NAMES),
             _where("", lambda obj: _owner(obj) == ("Deployment", "web"))),
    Question("Which widget is the youngest?",
             ("query", "DUMP", "widgets", "--sort-by", ".metadata.creationTimestamp", "-o", "jsonpath={.items[-1:].metadata.name}"),
             lambda: {max(objects("Widget"), key=lambda obj: obj["metadata"]["creationTimestamp"])["metadata"]["name"]}),
    Question("What is the size of top?", ("query", "DUMP", "widgets", "top", "-n", "lab", "-o", "jsonpath={.spec.size}"),
             lambda: {str(next(obj["spec"]["size"] for obj in objects("Widget") if obj["metadata"]["name"] == "top"))}),
    Question("Is there a widget nothing?", ("query", "DUMP", "widgets", "nothing", "-n", "lab"), set, code=1),
    Question("Are there services in lab?", ("query", "DUMP", "services", "-n", "lab"), set),
    Question("A field that there is not?", ("query", "DUMP", "pods", "--where", "spec.nodename == 'big'"), set, (), code=2),
    Question("Who uses the secret db?", ("refs", "DUMP", "secret/db", "-n", "shop", *ROWS),
             lambda: {"kind,namespace,name,field", "Widget,shop,front,spec.secretRef"}),
    Question("Who uses a secret db anywhere?", ("refs", "DUMP", "secret/db", *ROWS),
             lambda: {"kind,namespace,name,field", "Widget,shop,front,spec.secretRef"}),
    Question("Who uses the volume v?", ("refs", "DUMP", "pv/v", *ROWS),
             lambda: {"kind,namespace,name,field", "PersistentVolumeClaim,shop,store,spec.volumeName"}),
    Question("Who has the claim store?", ("refs", "DUMP", "pvc/store", *ROWS),
             lambda: {"kind,namespace,name,field", "PersistentVolume,,v,spec.claimRef"}),
    Question("Who uses a secret nothing?", ("refs", "DUMP", "secret/nothing"), set, code=1),
    Question("Who uses settings?", ("refs", "DUMP", "configmap/settings", "-n", "shop", *ROWS),
             lambda: {"kind,namespace,name,field", "Pod,shop,web-1,spec.volumes[0].configMap"}),
    Question("Who uses the certificate of front?", ("refs", "DUMP", "secret/front-tls", "-n", "shop", *ROWS),
             lambda: {"kind,namespace,name,field", "Ingress,shop,front,spec.tls[0].secretName"}),
    Question("Who pulls with registry?", ("refs", "DUMP", "secret/registry", "-n", "shop", *ROWS),
             lambda: {"kind,namespace,name,field", "Pod,shop,api-1,spec.imagePullSecrets[0]"}),
    Question("Who runs as baker?", ("refs", "DUMP", "sa/baker", "-n", "shop", *ROWS),
             lambda: {"kind,namespace,name,field",
                      *(f"Pod,shop,{obj['metadata']['name']},spec.serviceAccountName" for obj in objects("Pod"))}),
    Question("Who sends traffic to web?", ("refs", "DUMP", "service/web", "-n", "shop", *ROWS),
             lambda: {"kind,namespace,name,field", "Ingress,shop,front,spec.rules[0].http.paths[0].backend.service"}),
    Question("What does web-5f own?", ("refs", "DUMP", "rs/web-5f", "-n", "shop", *ROWS),
             lambda: {"kind,namespace,name,field",
                      *(f"Pod,shop,{obj['metadata']['name']},metadata.ownerReferences[0]" for obj in objects("Pod")
                        if _owner(obj) == ("ReplicaSet", "web-5f"))}),
    Question("Which references lead nowhere?", ("refs", "DUMP", "--dangling", *ROWS),
             lambda: {"kind,namespace,name,field,refers to",
                      "Pod,shop,web-1,spec.volumes[1].secret.secretName,secrets shop/missing",
                      "Widget,lab,orphan,metadata.ownerReferences[0],widgets.shop.example.com lab/never",
                      "Widget,lab,orphan,spec.secretRef,secrets lab/missing"}),
    Question("What is not healthy?", ("query", "DUMP", "--unhealthy", "-o", "csv"),
             lambda: {"kind,namespace,name,why,message",
                      "Deployment,shop,web,1 of 3 ready,", "ReplicaSet,shop,web-5f,1 of 3 ready,",
                      "Job,shop,bake,Failed (BackoffLimitExceeded),it failed 6 times", "Namespace,,old,Terminating,",
                      "Node,,small,MemoryPressure (Low),memory is low", "PersistentVolumeClaim,lab,waits,Pending,",
                      "Pod,shop,web-2,CrashLoopBackOff,back-off 5m0s",
                      "Pod,shop,web-3,PodScheduled False (Unschedulable),0/2 nodes",
                      "Widget,shop,side,Ready False (Failed),no flour"}),
    Question("Which nodes are under pressure?", ("query", "DUMP", "nodes", "--unhealthy", "-o", "csv"),
             lambda: {"kind,namespace,name,why,message", "Node,,small,MemoryPressure (Low),memory is low"}),
    Question("When do certificates expire?", ("query", "DUMP", "--certificates", *NOW, "-o", "csv"),
             lambda: {CERTIFICATES, *(f"{row},{day}," for row, day in _certificates().items())}),
    Question("Which secrets have certificates?", ("query", "DUMP", "secrets", "--certificates", *NOW, "-o", "csv"),
             lambda: {CERTIFICATES, *(f"{row},{day}," for row, day in _certificates().items() if row.startswith("Secret"))}),
    Question("What is being deleted, and waits for what?", ("kinds", "DUMP", "--deleting", *NOW, "-o", "csv"),
             lambda: {"kind,namespace,name,age,waits for,message", "Namespace,,old,3d,kubernetes,", "Pod,shop,api-1,12h,example.com/drain,",
                      'Widget,lab,stuck,6d,"example.com/hold, example.com/bill",'}),
    Question("How many objects has each kind?", ("kinds", "DUMP", "-o", "json"), _by_kind, read=_numbers_of_kinds),
    Question("Which colors have widgets?", ("explain", "DUMP", "widgets.spec.color", "--values", *ROWS),
             lambda: {"apiVersion,field,type,objects,value",
                      *(f"shop.example.com/v1,spec.color,string,{row}" for row in _counts(_colors()))}),
    Question("Where do pods run?", ("explain", "DUMP", "pods.spec.nodeName", "--values", *ROWS),
             lambda: {"apiVersion,field,type,objects,value",
                      *(f"v1,spec.nodeName,string,{row}"
                        for row in _counts([obj["spec"].get("nodeName", "<none>") for obj in objects("Pod")]))}),
    Question("What happened to web and what it owns?", ("events", "DUMP", "--for", "deployment/web", "-n", "shop", *NOW, *ROWS),
             lambda: {"last seen,type,reason,object,message", *_events("web-1", "web-2", "web-3", "web")}),
    Question("What happened to web-2?", ("events", "DUMP", "--for", "pod/web-2", "-n", "shop", *NOW, *ROWS),
             lambda: {"last seen,type,reason,object,message", *_events("web-2")}),
    Question("What happened today?", ("events", "DUMP", "-n", "shop", "--since", "12h", *NOW, *ROWS),
             lambda: {"last seen,type,reason,object,message", *_events("web-2", "web-3", "web")}),
    Question("Who changed the secret db?", ("history", "DUMP", "secret/db", "-n", "shop", *ROWS), lambda: _history("Secret", "db"),
             PAST),
    Question("What changed in the widget gone?", ("history", "DUMP", "widgets/gone", "-n", "shop", *ROWS),
             lambda: _history("Widget", "gone"), PAST),
    Question("Who changed front?", ("history", "DUMP", "widgets/front", "-n", "shop", *ROWS), lambda: _history("Widget", "front"),
             PAST),
    Question("What was written in the last six hours?", ("history", "DUMP", "--from", "6h", "-o", "json"), _since_six, PAST,
             read=_events_of_a_watch),
    Question("Which widgets were there on March 2?",
             ("query", "DUMP", "widgets", "--as-of", "2026-03-02T00:00:00Z", *NAMES),
             lambda: {f"{obj['metadata']['namespace']}/{obj['metadata']['name']}" for obj, _ in steps()
                      if obj["kind"] == "Widget" and obj["metadata"]["creationTimestamp"] < "2026-03-02"
                      and "deletionTimestamp" not in obj["metadata"]}, PAST),
    Question("What color had front before?",
             ("query", "DUMP", "widgets", "front", "-n", "shop", "--as-of", "2026-03-08T00:00:00Z", "-o", "jsonpath={.spec.color}"),
             lambda: {"blue"}, PAST),
    Question("Who wrote which field of front?", ("show", "DUMP", "widgets/front", "-n", "shop", "--writers", *ROWS),
             lambda: {"field,manager,operation,subresource,time", *_writers()}),
    Question("Is the widget gone really gone?", ("show", "DUMP", "widgets/gone", "-n", "shop"),
             lambda: {f"Deleted: at revision {_deleted_at()}; this is its last value"}, PAST,
             read=lambda text: {line for line in text.splitlines() if "Deleted:" in line}),
    Question("Is there such a widget?", ("show", "DUMP", "widgets/never", "-n", "shop"), set, code=1),
    Question("What changed since the last revisions?", ("diff", "DUMP@{before}", "DUMP", *ROWS),
             lambda: {"change,group,kind,namespace,name,fields,stored_fields,reason", "changed,,ConfigMap,shop,settings,data.mode,,",
                      "removed,shop.example.com,Widget,shop,gone,,,"}, PAST),
    Question("Is anything different?", ("diff", "DUMP", "DUMP", *ROWS),
             lambda: {"change,group,kind,namespace,name,fields,stored_fields,reason"}),
)  # fmt: skip


def _writers() -> set[str]:
    """Return the rows of the writers of front: each field belongs to the manager that has it in managedFields."""
    front = next(obj for obj in objects("Widget") if obj["metadata"]["name"] == "front")
    return {
        f"spec.{field.removeprefix('f:')},{entry['manager']},{entry['operation']},,{entry['time']}"
        for entry in front["metadata"]["managedFields"]
        for field in entry["fieldsV1"]["f:spec"]
    }


def _deleted_at() -> int:
    return next(revision for revision, (_, is_deleted) in enumerate(steps(), 2) if is_deleted)


def _owner(obj: Object) -> tuple[str, str]:
    owners = obj["metadata"].get("ownerReferences", ())
    return (owners[0]["kind"], owners[0]["name"]) if owners else ("", "")


def _managers() -> list[str]:
    return [
        manager
        for obj in objects()
        for manager in [entry["manager"] for entry in obj["metadata"].get("managedFields", ())] or ["<none>"]
    ]


def _colors() -> list[str]:
    return [obj["spec"]["color"] for obj in objects("Widget")]


def _certificates() -> dict[str, str]:
    """Return when each certificate expires, by the first cells of its row."""
    places = {
        "Secret,lab,old-tls,data.tls.crt": ("old.example.com", "2026-03-05 (expired 5d ago)"),
        "Secret,shop,front-tls,data.tls.crt": ("shop.example.com", "2026-03-30 (in 20d)"),
        "ConfigMap,shop,trust,data.ca.crt": ("ca.example.com", "2027-04-14 (in 400d)"),
    }
    return {f"{place},CN={name},CN={name}": day for place, (name, day) in places.items()}


def _events(*names: str) -> set[str]:
    """Return the rows of the events about some objects."""
    ages = {0.2: "4h48m", 0.1: "144m", 5: "5d", 0: "0s", 2: "2d"}
    rows = set()
    for event in objects("Event"):
        seen = datetime.datetime.fromisoformat(event["lastTimestamp"])
        about = event["involvedObject"]
        if about["name"] in names:
            age = ages[round((NEWEST - seen).total_seconds() / 86400, 1)]
            rows.add(f"{age},{event['type']},{event['reason']},{about['kind']}/{about['name']},{event['message']}")
    return rows


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("shop")
    dumps = {form: dump_of(form, folder) for form in FORMS}
    assert auditor("audit", dumps["snapshot.db"], "--report", folder / REPORT, "--fail-on", "never").code == 0
    return {**dumps, REPORT: folder / REPORT}


@pytest.mark.parametrize("form", [*FORMS, REPORT])
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_a_question(dumps: dict[str, Path], question: Question, form: str) -> None:
    dump = str(dumps[form])
    command = [word.replace("DUMP", dump).replace("{before}", str(len(steps()) - 1)) for word in question.command]
    ended = auditor(*command)
    if form not in question.forms:
        assert ended.code in (1, 2)
        assert ended.stderr
        assert not ended.stdout
        return
    assert question.read(ended.stdout) == question.answer(), ended.stderr
    assert ended.code == question.code, ended.stderr
    assert ended.code == 0 or ended.stderr


def test_there_are_sixty_questions() -> None:
    assert len(QUESTIONS) >= 60
