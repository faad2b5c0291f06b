"""The recorded answers are those of the server, and plans can be carried out: on a real kube-apiserver and etcd.

Runs where AUDITOR_KUBE names the folder of a built server (`start`, `bin/kube-apiserver`, `bin/kubectl`).
"""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.upgrade.server.judge import answers, lost, scan
from tests.upgrade.server.pairs import PAIRS, crd, version
from tests.upgrade.server.real import Api, carry_out, collection

KUBE = Path(os.environ.get("AUDITOR_KUBE", "/nonexistent"))
PORTS = os.environ.get("AUDITOR_KUBE_PORTS", "12579 16643").split()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (KUBE / "start").is_file(), reason="AUDITOR_KUBE names no real API server"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kube")
    subprocess.run([KUBE / "start", folder, *PORTS], check=True, stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            done = subprocess.run(kubectl(folder, "get", "--raw", "/readyz"), capture_output=True, check=False)
            if done.returncode == 0:
                break
            time.sleep(0.5)
        yield folder
    finally:
        for name in ("api.pid", "etcd.pid"):
            os.kill(int((folder / name).read_text()), signal.SIGTERM)


def kubectl(folder, *words):
    return [KUBE / "bin" / "kubectl", "--kubeconfig", folder / "kubeconfig", *words]


@pytest.fixture(scope="module")
def upgraded(server):
    return {pair.name: answer for pair, answer in carry_out(PAIRS, Api(server / "kubeconfig"), f"127.0.0.1:{PORTS[0]}")}


def without_revisions(answer):
    return json.loads(re.sub(r"revision=[0-9]+", "revision", json.dumps(answer)))


def test_the_recorded_answers_are_those_of_the_server(upgraded):
    recorded = answers()
    assert upgraded.keys() == recorded.keys()
    for name, answer in upgraded.items():
        for key in ("code", "causes", "before", "after"):
            assert without_revisions(answer[key]) == without_revisions(recorded[name][key]), name


def test_plans_can_be_carried_out_and_every_list_works(server, upgraded, tmp_path):
    api = Api(server / "kubeconfig")
    done = []
    for pair in PAIRS:
        answer = upgraded[pair.name]
        folder = tmp_path / pair.name
        folder.mkdir()
        _, manifest = scan(pair, answer, folder, plan=True)
        [definition] = manifest["upgrade"]["definitions"]
        if answer["code"] < 300 or not definition["plan"] or not definition["plan"]["steps"]:
            continue
        environment = {
            **os.environ,
            "KUBECONFIG": str(server / "kubeconfig"),
            "PATH": f"{KUBE / 'bin'}:{os.environ['PATH']}",
        }
        run = subprocess.run(["sh", folder / "plan.sh"], env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, (pair.name, run.stdout, run.stderr)
        done.append(pair.name)
        for each in pair.new["versions"]:
            if each["served"]:
                code, listed = api.request("GET", collection(pair, pair.new, each["name"]))
                assert code == 200, (pair.name, listed)
                assert len(listed["items"]) == len(pair.objects), pair.name
                for key, was in answer["before"]["objects"].items():
                    name = key.split()[1]
                    [now] = [one for one in listed["items"] if one["metadata"]["name"] == name]
                    assert not lost(was["content"], now), pair.name
                    entries = now["metadata"].get("managedFields", ())
                    served = {f"{pair.group}/{one['name']}" for one in pair.new["versions"]}
                    assert {entry["apiVersion"] for entry in entries} <= served, pair.name
    assert len(done) >= 6, done


def test_two_hops_can_be_carried_out_where_no_version_is_in_common(server, upgraded, tmp_path):
    [pair] = [one for one in PAIRS if one.name == "nothing-in-common"]
    between = pair.document(crd(version("v1", storage=False), version("v2")))
    (tmp_path / "between.json").write_text(json.dumps(between))
    _, manifest = scan(pair, upgraded[pair.name], tmp_path, plan=True, via=[str(tmp_path / "between.json")])
    assert manifest["upgrade"]["decision"] == "safe-after"
    environment = {
        **os.environ,
        "KUBECONFIG": str(server / "kubeconfig"),
        "PATH": f"{KUBE / 'bin'}:{os.environ['PATH']}",
    }
    run = subprocess.run(["sh", tmp_path / "plan.sh"], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, (run.stdout, run.stderr)
    code, listed = Api(server / "kubeconfig").request("GET", collection(pair, pair.new, "v2"))
    assert code == 200
    assert [one["spec"] for one in listed["items"]] == [one["spec"] for one in pair.objects]
