"""What `helm upgrade` deletes or fails for, by the release in the dump; the rule was measured with Helm 3 on v1.37.2."""

import base64
import gzip
import json

import pytest

from tests.command import auditor
from tests.plan.test_unread_definitions import helm as fake_helm
from tests.upgrade.support import NAME, crd, thing, version
from tests.upgrade.test_apis import RELEASE, helm, in_etcd, of, write

KEY = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{NAME}"
KEEP = {"helm.sh/resource-policy": "keep"}


def definition(**annotations):
    document = crd(version({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    document["metadata"]["annotations"] = annotations
    return document


def live(**metadata):
    document = crd(version({"type": "object", "x-kubernetes-preserve-unknown-fields": True}), stored=["v1"])
    document["metadata"] |= metadata
    return document


def release(*documents, name="web", form=in_etcd, chart="web", revision=3, status="deployed"):
    manifest = "".join(f"---\n# Source: web/templates/x.yaml\n{json.dumps(one)}\n" for one in documents)
    content = {
        "name": name, "version": revision, "info": {"status": status}, "manifest": manifest or "# nothing",
        "chart": {"metadata": {"name": chart}}, "config": {"crds": False},
    }  # fmt: skip
    value = helm(raw=packed(content))
    value["metadata"]["name"] = f"sh.helm.release.v1.{name}.v{revision}"
    value["metadata"]["labels"] = {"status": status}
    return form(value)


def packed(content):
    return base64.b64encode(gzip.compress(json.dumps(content).encode()))


def dump(folder, *, stored=None, own=None, **more):
    return write(folder, {KEY: live() if stored is None else stored, RELEASE: own or release(definition()), **more})


def chart(folder, *, crds=(), templates=(), name="web"):
    root = folder / "chart"
    for part in ("crds", "templates"):
        (root / part).mkdir(parents=True)
    (root / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 2.0.0\n")
    for number, one in enumerate(crds):
        (root / f"crds/{number}.json").write_text(json.dumps(one))
    for number, text in enumerate(templates):
        (root / f"templates/{number}.yaml").write_text(text)
    return root


def upgrade(folder, path, new, *more):
    done = auditor("upgrade", path, "--new-crds", new, "--jobs", "1", "--report", folder / "out", "--force", *more)
    section = json.loads((folder / "out/manifest.json").read_text())["upgrade"] if done.code != 2 else {}
    return done, section


def whole(folder):
    return auditor("changes", folder / "out").stdout


def printed(*parts):
    return "".join(f"---\n# Source: web/{place}\n{json.dumps(one)}\n" for place, one in parts)


DELETES = (
    "blocks, because of the release default/web (this helm upgrade deletes 1 definition and 1 object, unless first: "
    f"kubectl annotate crd {NAME} helm.sh/resource-policy=keep)"
)


def test_a_definition_that_moves_to_crds_is_deleted_with_its_objects(tmp_path):
    done, section = upgrade(tmp_path, dump(tmp_path), chart(tmp_path, crds=[definition()]))
    assert done.code == 1
    assert done.stdout.startswith(DELETES + "\n")
    (one,) = section["helm"]["upgrades"]
    assert one["deletes"] == [{"definition": NAME, "objects": 1}]
    first = f"unless first: kubectl annotate crd {NAME} helm.sh/resource-policy=keep"
    assert f"{NAME} is deleted with 1 object, {first} (helm upgrade of default/web (revision 3) to" in whole(tmp_path)


def test_a_chart_without_a_definition_left_is_an_answer(tmp_path):
    done, _ = upgrade(tmp_path, dump(tmp_path), chart(tmp_path))
    assert (done.code, done.stdout.splitlines()[0]) == (1, DELETES)


def test_a_chart_without_a_definition_and_without_a_release_is_none(tmp_path):
    done, _ = upgrade(tmp_path, dump(tmp_path), chart(tmp_path, name="other"))
    assert (done.code, "no definition found" in done.stderr) == (2, True)


def test_what_helm_template_prints_names_the_chart(tmp_path):
    text = tmp_path / "printed.yaml"
    text.write_text(printed(("crds/a.yaml", definition())))
    done, _ = upgrade(tmp_path, dump(tmp_path), text)
    assert done.stdout.startswith(DELETES)
    text.write_text(printed(("templates/a.yaml", definition())))
    done, section = upgrade(tmp_path, dump(tmp_path), text)
    assert (done.code, section["decision"]) == (0, "safe")
    assert done.stdout.startswith("safe, if helm upgrade of default/web renders what was given\n")
    assert "this holds only if the chart was rendered as an upgrade does it" in whole(tmp_path)


def test_each_of_several_charts_that_were_printed_counts(tmp_path):
    text = tmp_path / "printed.yaml"
    other = printed(("templates/o.yaml", OTHER)).replace("web/", "shop/")
    text.write_text(other + printed(("crds/a.yaml", definition())))
    done, _ = upgrade(tmp_path, dump(tmp_path), text)
    assert DELETES.removeprefix("blocks, because of ") in done.stdout.split("\n")[0]


OF_WEB = {"labels": {"app.kubernetes.io/managed-by": "Helm"},
          "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "default"}}  # fmt: skip
OTHER = crd(version({"type": "object"}), plural="others", kind="Other")


@pytest.mark.parametrize("given", [definition(), OTHER], ids=["it", "one of its group"])
def test_definitions_without_their_chart_are_safe_by_kubectl_alone(tmp_path, given):
    text = tmp_path / "new.json"
    text.write_text(json.dumps(given))
    done, section = upgrade(tmp_path, dump(tmp_path, stored=live(**OF_WEB)), text)
    assert (done.code, section["decision"]) == (0, "safe")
    assert done.stdout.startswith("safe by kubectl apply; not known of helm upgrade of default/web (--helm-release)\n")
    assert "what helm upgrade of default/web does is not known: definitions of it were given" in whole(tmp_path)
    done, section = upgrade(tmp_path, dump(tmp_path, stored=live(**OF_WEB)), text, "--helm-release", "web")
    assert section["decision"] == ("blocks" if given is OTHER else "safe")


def test_definitions_of_no_release_are_safe(tmp_path):
    text = tmp_path / "new.json"
    text.write_text(json.dumps(definition()))
    done, _ = upgrade(tmp_path, dump(tmp_path), text)
    assert done.stdout.startswith("safe\n")


def test_a_renamed_chart_that_has_some_definitions_of_a_release_may_delete_the_others(tmp_path):
    stored = live(**OF_WEB)
    other = json.loads(json.dumps(OTHER)) | {"status": stored["status"]}
    other["metadata"] |= OF_WEB
    more = {f"/registry/apiextensions.k8s.io/customresourcedefinitions/{other['metadata']['name']}": other}
    path = dump(tmp_path, stored=stored, own=release(definition(), OTHER), **more)
    text = tmp_path / "printed.yaml"
    text.write_text(printed(("templates/a.yaml", OTHER)).replace("web/", "webs/"))
    done, section = upgrade(tmp_path, path, text)
    assert (done.code, section["decision"]) == (3, "unknown")
    assert f"whether helm upgrade deletes {NAME} is not known: it is of the release default/web" in done.output


def test_manifests_beside_a_named_release(tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}))
    done, _ = upgrade(tmp_path, dump(tmp_path), other, "--helm-release", "default/web")
    assert done.stdout.startswith(DELETES)
    done, _ = upgrade(tmp_path, dump(tmp_path), other, "--helm-release", "gone")
    assert (done.code, "no release gone in the dump; expected one of: default/web" in done.stderr) == (2, True)


def test_nothing_on_standard_input_deletes_nothing(tmp_path):
    path = dump(tmp_path)
    done = auditor(
        "upgrade", path, "--new-crds", "-", "--helm-release", "web", "--report", tmp_path / "out", stdin=b"\n"
    )
    assert (done.code, "standard input: it is empty" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("stored", "old", "new", "word"),
    [
        (live(), definition(), definition(**KEEP), "deleted"),  # in the new chart alone it does not help
        (live(), definition(**KEEP), definition(), "deleted"),  # stripped from the live definition
        (live(annotations=KEEP), definition(**KEEP), definition(), "kept"),
        (live(annotations=KEEP), definition(), definition(), "kept"),
    ],
)
def test_the_live_annotation_decides(tmp_path, stored, old, new, word):
    path = dump(tmp_path, stored=stored, own=release(old))
    done, _ = upgrade(tmp_path, path, chart(tmp_path, crds=[new]))
    assert f"{NAME} is {word} " in whole(tmp_path)
    assert done.code == (1 if word == "deleted" else 0)


def test_what_is_no_part_of_the_manifest_is_left_alone(tmp_path):
    done, section = upgrade(tmp_path, dump(tmp_path, own=release()), chart(tmp_path, crds=[definition()]))
    assert (done.code, section["decision"]) == (0, "safe")
    assert "helm upgrade does not apply crds/" in whole(tmp_path)


def test_a_hook_that_is_there_already_makes_the_upgrade_fail(tmp_path):
    text = tmp_path / "printed.yaml"
    text.write_text(printed(("templates/a.yaml", definition(**{"helm.sh/hook": "pre-install,pre-upgrade"}))))
    done, section = upgrade(tmp_path, dump(tmp_path), text)
    assert done.code == 1
    assert (
        f'it fails, unless by helm upgrade --no-hooks: pre-upgrade hooks failed, {NAME} "already exists"' in done.stdout
    )
    assert section["helm"]["upgrades"][0]["deletes"] == []
    assert (
        f"is deleted with its objects, once the upgrade no longer fails, unless first: kubectl annotate crd {NAME}"
        in whole(tmp_path)
    )
    done, section = upgrade(tmp_path, dump(tmp_path, own=release()), text)
    assert (done.code, "after that" in done.stdout) == (1, False)  # it was a hook before, too


def test_a_post_upgrade_hook_that_is_there_already_makes_it_fail_at_its_end(tmp_path):
    text = tmp_path / "printed.yaml"
    text.write_text(printed(("templates/a.yaml", definition(**{"helm.sh/hook": "post-upgrade"}))))
    done, section = upgrade(tmp_path, dump(tmp_path, own=release()), text)
    assert done.code == 1
    assert f'post-upgrade hooks failed, {NAME} "already exists"' in done.stdout
    done, section = upgrade(tmp_path, dump(tmp_path), text)  # deleted before the hook runs
    assert [section["helm"]["upgrades"][0][field] for field in ("deletes", "fails_after")] == [
        [{"definition": NAME, "objects": 1}], [],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "namespace", "code"), [("web", "default", 0), ("web", "other", 1), ("second", "default", 1), ("", "", 1)]
)
def test_a_definition_that_is_there_and_not_of_the_release_makes_it_fail(tmp_path, name, namespace, code):
    text = tmp_path / "printed.yaml"
    text.write_text(printed(("templates/a.yaml", definition())))
    stored = live(**owned(name, namespace)) if name else live()
    done, section = upgrade(tmp_path, dump(tmp_path, stored=stored, own=release()), text)
    assert (done.code, section["helm"]["upgrades"][0]["foreign"]) == (code, [NAME] if code else [])
    assert (f"it fails, unless by helm upgrade --take-ownership: {NAME} exists" in done.stdout) is bool(code)


@pytest.mark.parametrize(
    ("statuses", "is_deleted"),
    [
        (["failed"], True),  # the first install failed: an upgrade goes on from it
        (["failed", "superseded"], True),
        (["deployed", "failed"], True),
        (["superseded", "uninstalled"], False),  # helm upgrade: it has no deployed releases
    ],
)
def test_the_revision_that_an_upgrade_starts_from(tmp_path, statuses, is_deleted):
    stored = {
        f"/registry/secrets/default/sh.helm.release.v1.web.v{number}":
            release(definition(), revision=number, status=status)
        for number, status in enumerate(statuses, 1)
    }  # fmt: skip
    path = write(tmp_path, {KEY: live(), **stored})
    done, _ = upgrade(tmp_path, path, chart(tmp_path, crds=[definition()]))
    assert done.stdout.startswith(DELETES) is is_deleted


def test_a_chart_whose_release_is_not_known_is_not_safe(tmp_path):
    path = dump(tmp_path, stored=live(**owned("web", "default")))
    done, section = upgrade(tmp_path, path, chart(tmp_path, crds=[definition()], name="renamed"))
    assert (done.code, section["decision"]) == (3, "unknown")
    assert "of the release default/web; if this chart upgrades it, name it by --helm-release" in " ".join(
        done.stdout.split()
    )
    path = write(tmp_path, {KEY: live(**owned("web", "default"))})
    done, section = upgrade(tmp_path, path, tmp_path / "chart")
    assert (done.code, section["decision"]) == (3, "unknown")
    unsure = f"whether helm upgrade deletes {NAME} is not known: it is of the release default/web, which is not in"
    assert unsure in " ".join(done.stdout.split())


def test_of_several_releases_those_count_that_own_definitions(tmp_path, monkeypatch):
    text = "---\n# Source: web/templates/0.yaml\n" + json.dumps(definition()) + "\n"
    body = f"open({str(tmp_path / 'asked')!r}, 'w').write(' '.join(sys.argv)); print({text!r})"
    monkeypatch.setenv("PATH", str(fake_helm(tmp_path / "bin", body)))
    root = chart(tmp_path, templates=["kind: CustomResourceDefinition"])
    second = RELEASE.replace("web", "second")
    done, section = upgrade(tmp_path, dump(tmp_path, **{second: release(name="second")}), root, "--render")
    assert (done.code, section["decision"]) == (0, "safe")  # and it does not fail for the second
    assert "template web " in (tmp_path / "asked").read_text()
    both = dump(tmp_path, **{second: release(definition(), name="second")})
    done, _ = upgrade(tmp_path, both, root, "--render")
    assert (done.code, "expected --helm-release of: default/second, default/web" in done.stderr) == (2, True)
    done, _ = upgrade(tmp_path, both, root, "--render", "--helm-release", "web")
    assert done.code == 0


def owned(name, namespace):
    annotations = {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace}
    return {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": annotations}


@pytest.mark.parametrize("own", [True, False])
def test_a_template_that_asks_the_cluster_is_not_known_when_rendered(tmp_path, monkeypatch, own):
    text = "---\n# Source: web/templates/0.yaml\n" + json.dumps(definition()) + "\n"
    monkeypatch.setenv("PATH", str(fake_helm(tmp_path / "bin", f"print({text!r})")))
    ask = '{{ if not (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "x") }}\n{{ end }}'
    root = chart(tmp_path, templates=[ask] if own else ["kind: CustomResourceDefinition\n# {{ x }} a lookup of names"])
    done, section = upgrade(tmp_path, dump(tmp_path), root, "--render")
    assert (done.code, section["decision"]) == ((3, "unknown") if own else (0, "safe"))
    assert ("0.yaml: it asks the cluster (lookup)" in done.stdout) is own


@pytest.mark.parametrize(
    "template",
    ["{{ if .Values.crds }}\nkind: CustomResourceDefinition\n{{ end }}", '{{ .Files.Get "crds/0.json" }}'],
)
def test_what_only_rendering_shows_is_unknown(tmp_path, template):
    done, section = upgrade(tmp_path, dump(tmp_path), chart(tmp_path, crds=[definition()], templates=[template]))
    assert (done.code, section["decision"]) == (3, "unknown")
    assert f"{NAME}: only rendering the chart shows whether it is kept" in whole(tmp_path)


def test_a_chart_is_rendered_as_the_release_with_its_values(tmp_path, monkeypatch):
    body = f"open({str(tmp_path / 'asked')!r}, 'w').write(' '.join(sys.argv))"
    monkeypatch.setenv("PATH", str(fake_helm(tmp_path / "bin", body)))
    root = chart(tmp_path, crds=[], templates=["{{ if .Values.crds }}\nkind: CustomResourceDefinition\n{{ end }}"])
    done, _ = upgrade(tmp_path, dump(tmp_path), root, "--render")
    assert done.stdout.startswith(DELETES)
    asked = (tmp_path / "asked").read_text()
    assert f"template web {root} --include-crds --values -" in asked
    assert " --is-upgrade " in asked
    assert asked.endswith("--api-versions example.com/v1 --api-versions example.com/v1/Thing")


def test_other_owners_are_named(tmp_path):
    labels = {"kustomize.toolkit.fluxcd.io/name": "infra", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    tracked = {"argocd.argoproj.io/tracking-id": f"shop:apiextensions.k8s.io/CustomResourceDefinition:/{NAME}"}
    inventory = {
        "inventory": {"entries": [{"id": f"_{NAME}_apiextensions.k8s.io_CustomResourceDefinition", "v": "v1"}]}
    }
    resources = {"resources": [{"kind": "CustomResourceDefinition", "name": NAME, "group": "apiextensions.k8s.io"}]}
    path = dump(
        tmp_path,
        stored=live(labels=labels, annotations=tracked),
        **{
            RELEASE.replace("web", "second"): release(definition(), name="second", chart="other"),
            "/registry/kustomize.toolkit.fluxcd.io/kustomizations/flux-system/apps":
                of("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps", "flux-system", status=inventory),
            "/registry/argoproj.io/applications/argocd/base":
                of("argoproj.io/v1alpha1", "Application", "base", "argocd", status=resources),
        },
    )  # fmt: skip
    _, section = upgrade(tmp_path, path, chart(tmp_path))
    assert section["helm"]["upgrades"][0]["owners"] == {
        NAME: [
            "Helm release default/second", "Argo CD application shop", "Flux Kustomization flux-system/infra",
            "Flux Kustomization flux-system/apps", "Argo CD application base",
        ]
    }  # fmt: skip


def test_a_release_in_an_export_counts(tmp_path):
    own = release(definition(), form=lambda value: value)
    path = tmp_path / "export.ndjson"
    path.write_text("\n".join(map(json.dumps, [live(), thing("a", {}), own])))
    done, _ = upgrade(tmp_path, path, chart(tmp_path))
    assert done.stdout.startswith(DELETES)


def test_a_release_that_cannot_be_read_leaves_nothing_safe(tmp_path):
    path = dump(tmp_path, own=b"k8s:enc:aescbc:v1:k:" + b"x" * 64)
    done, section = upgrade(tmp_path, path, chart(tmp_path, crds=[definition()]))
    assert (done.code, section["decision"]) == (3, "unknown")
    assert "it is encrypted, and no key opens it (1)" in done.stdout


def test_the_reason_of_an_input_that_was_not_read_is_on_one_line(tmp_path):
    folder = tmp_path / "a-folder-with-a-name-that-takes-much-of-a-line"
    folder.mkdir()
    path = dump(folder, own=b"k8s:enc:aescbc:v1:k:" + b"x" * 64)
    done, _ = upgrade(folder, path, chart(folder, crds=[definition()]))
    [line] = [line for line in done.stdout.splitlines() if "it is encrypted, and no key opens it (1)" in line]
    assert line in whole(folder).splitlines()
    assert whole(folder).splitlines()[-1] == done.stdout.splitlines()[-1]
