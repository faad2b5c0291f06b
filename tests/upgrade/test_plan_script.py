"""The script of a plan, run by sh with a kubectl that answers from a folder: webhooks, ways back, what is left out."""

import json
import os
import subprocess

import pytest

from tests.command import auditor
from tests.upgrade.support import crd, spec, string, thing, version, write_crds, write_dump

KUBECTL = """\
#!/bin/sh
shift  # the limit of the request
echo "$*" >> "$WORLD/asked"
case "$*" in
  "wait "*) case "$*" in *--timeout=*) ;; *) exit 9;; esac ;;
  "get service "*spec.type*) cat "$WORLD/type" ;;
  "get service "*) cat "$WORLD/port" ;;
  "get endpointslices "*) cat "$WORLD/ready" ;;
  "get --raw "*) [ ! -e "$WORLD/no-list" ] ;;
  "get crd "*"-o json") echo '{"spec":"of today"}' ;;
  "get crd "*metadata.uid*) if [ ! -e "$WORLD/no-crd" ]; then echo "u-1 2"; fi ;;
  "get things"*" -o name") [ ! -e "$WORLD/no-things" ] && echo thing/a ;;
  "get things"*) ;;
  "replace -f -") cat > "$WORLD/last"; ! grep -q "$(cat "$WORLD/refused")" "$WORLD/last" ;;
  "create -f -") cat > /dev/null ;;
esac
"""
SERVICE = {"service": {"namespace": "hooks", "name": "converter", "port": 8443}}
OLD = crd(version(spec(a=string())), stored=["v1"])
OTHER = crd(version(spec(a=string())), stored=["v1"], plural="others", kind="Other")
NEXT = crd(version(spec(a=string(), b=string())), plural="others", kind="Other")


def hooked(config):
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": config}
    versions = (version(spec(a=string()), storage=False), version(spec(a=string()), "v2"))
    return crd(*versions, conversion={"strategy": "Webhook", "webhook": webhook})


class World:
    """A folder with a plan, and the answers of kubectl."""

    def __init__(self, folder, old, new, objects=()):
        self.folder = folder
        dump = write_dump(
            folder / "d.json", old, [*objects, thing("a", {"a": "x"}, old[0]["status"]["storedVersions"][0])]
        )
        words = ("--new-crds", write_crds(folder / "n.json", *new), "--report", folder / "r", "--jobs", 1)
        self.done = auditor("upgrade", dump, *words, "--plan", folder / "plan")
        self.plan = json.loads((folder / "plan.json").read_text())
        (folder / "bin").mkdir()
        for name, text in (("kubectl", KUBECTL), ("sleep", "#!/bin/sh\n"), ("date", DATE)):
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        for name, text in (("type", "ClusterIP"), ("port", "8443"), ("ready", "10.0.0.1"), ("refused", "NOTHING")):
            self.set(name, text)

    def set(self, name, text=""):
        (self.folder / name).write_text(text)

    def run(self):
        """Return (code, output, what kubectl was asked)."""
        (self.folder / "asked").write_text("")
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "WORLD": str(self.folder)}
        words = ["sh", self.folder / "plan.sh"]
        run = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr, (self.folder / "asked").read_text()


DATE = """\
#!/bin/sh
echo "$(($(wc -l < "$WORLD/asked") * 30))"
"""
"""A clock that goes on with each request."""


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("ready", "", "Service hooks/converter has no ready endpoint"),
        ("port", "", "Service hooks/converter has no port 8443"),
        ("type", "", "Service hooks/converter cannot be read"),
    ],
)
def test_a_webhook_that_cannot_answer_stops_its_definition_and_no_other(tmp_path, name, answer, said):
    world = World(tmp_path, [OLD, OTHER], [hooked(SERVICE), NEXT])
    world.set(name, answer)
    code, output, asked = world.run()
    assert code == 1
    assert said in output
    assert "things.example.com: stopped at: 1. see that Service hooks/converter of the conversion webhook" in output
    assert "the server confirmed no change of it" in output
    assert output.endswith("left out: things.example.com\n")
    assert asked.count("replace -f -") == 1
    assert "others.example.com: 2. list its objects" in output
    world.set(name, "8443")
    code, output, asked = world.run()
    assert code == 0, output
    assert "others.example.com: was done before" in output
    assert "nothing was left out" in output
    assert "-l kubernetes.io/service-name=converter" in asked


@pytest.mark.parametrize(("config", "kind"), [({"url": "https://hooks.example.com/c"}, ""), (SERVICE, "ExternalName")])
def test_what_kubectl_cannot_test_is_said_and_the_plan_goes_on(tmp_path, config, kind):
    world = World(tmp_path, [OLD], [hooked(config)])
    world.set("type", kind)
    world.set("ready", "")
    code, output, _ = world.run()
    assert code == 0, output
    assert "kubectl cannot test" in output


def test_a_new_definition_needs_no_webhook_yet(tmp_path):
    new = hooked(SERVICE)
    new["metadata"]["name"] = "news.example.com"
    new["spec"]["names"] = {"plural": "news", "singular": "new", "kind": "New", "listKind": "NewList"}
    world = World(tmp_path, [OLD], [new])
    world.set("ready", "")
    code, output, asked = world.run()
    assert "Service hooks/converter has no ready endpoint" in output
    assert "requests at other versions than the stored one fail" in output
    assert "create -f -" in asked
    assert code == 0, output


def test_a_list_that_fails_after_the_change_prints_the_way_back_by_the_versions_of_both(tmp_path):
    world = World(tmp_path, [OLD], [hooked(SERVICE)])
    world.set("no-list")
    code, output, _ = world.run()
    assert code == 1
    back = output[output.index("the way back") :]
    assert back.index("kubectl patch crd things.example.com --type=json") < back.index("things.v1.example.com -A")
    assert back.index('{"status":{"storedVersions":["v1"]}}') < back.index('kubectl replace -f "$copy"')
    [copy] = tmp_path.glob("plan-saved-*/1-things.example.com-u-1.json")
    assert f"copy='{copy}'" in back
    assert copy.read_text() == '{"spec":"of today"}\n'


def test_every_step_that_changes_something_has_a_way_back(tmp_path):
    old = crd(version(spec(a=string()), "v1"), version(spec(a=string()), "v2", storage=False), stored=["v1"])
    world = World(tmp_path, [old], [crd(version(spec(a=string()), "v2"))])
    steps = {step["do"]: step["back"] for step in world.plan["definitions"][0]["steps"]}
    assert list(steps) == ["store-at", "rewrite", "stored-versions", "apply", "check"]
    assert all('kubectl replace -f "$copy"' in back for do, back in steps.items() if do != "check")


def test_a_list_that_fails_is_not_a_kind_without_objects(tmp_path):
    old = crd(version(spec(a=string()), "v1"), version(spec(a=string()), "v2", storage=False), stored=["v1"])
    world = World(tmp_path, [old], [crd(version(spec(a=string()), "v2"))])
    world.set("no-things")
    code, output, asked = world.run()
    assert code == 1
    assert "things.example.com: stopped at: 2. rewrite 1 object stored as v1" in output
    assert "storedVersions" not in asked


def test_the_way_back_from_a_refusal_is_that_of_the_steps_before(tmp_path):
    old = crd(version(spec(a=string()), "v1"), version(spec(a=string()), "v2", storage=False), stored=["v1"])
    world = World(tmp_path, [old], [crd(version(spec(a=string()), "v2"))])
    world.set("refused", "things.example.com")
    code, output, _ = world.run()
    assert code == 1
    assert "things.example.com: stopped at: 4. apply the definition" in output
    back = output[output.index("the way back") :]
    assert 'kubectl replace -f "$copy"' in back
    assert "--type=json" not in back


def test_a_definition_without_a_plan_is_left_out_by_name(tmp_path):
    refused = crd(version(spec(a=string())), plural="others", kind="Other")
    refused["spec"]["scope"] = "Cluster"
    world = World(tmp_path, [OLD, OTHER], [crd(version(spec(a=string(), b=string()))), refused])
    code, output, asked = world.run()
    assert code == 1
    assert "others.example.com: no plan: " in output
    assert output.endswith("left out: others.example.com\n")
    assert asked.count("replace -f -") == 1


def test_a_definition_that_the_server_refuses_does_not_stop_the_next(tmp_path):
    world = World(tmp_path, [OLD, OTHER], [crd(version(spec(a=string(), b=string()))), NEXT])
    world.set("refused", "others.example.com")
    code, output, asked = world.run()
    assert code == 1
    assert "others.example.com: stopped at: 1. apply the definition" in output
    assert "things.example.com: 2. list its objects" in output
    assert "the server confirmed no change of it" in output
    assert output.endswith("left out: others.example.com\n")
    assert asked.count("replace -f -") == 2
