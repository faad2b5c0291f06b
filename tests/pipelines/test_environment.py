"""Variables that begin with AUDITOR_: a misspelt one is reported, and one of another program stops no run."""

import pytest

from tests.command import auditor, unset
from tests.shared import ROOT

SAMPLE = str(ROOT / "sample-data" / "cluster.db.gz")


def run(*arguments, cwd, **env):
    """Run the command for a user whose environment and folders have nothing of the auditor's."""
    return auditor(*arguments, cwd=cwd, env={**unset(), "XDG_CONFIG_HOME": None, "HOME": str(cwd), **env})


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("AUDITOR_AUDIT_FAIL_NO", "AUDITOR_AUDIT_FAIL_ON"),
        ("AUDITOR_AUDIT_ENCRYPTION_CONFG", "AUDITOR_AUDIT_ENCRYPTION_CONFIG"),
        ("AUDITOR_CONFG", "AUDITOR_CONFIG"),
        ("AUDITOR_JOBS", "AUDITOR_AUDIT_JOBS"),
        ("AUDITOR_CRDS_CHECK_KUBERNETESS", "AUDITOR_CRDS_CHECK_KUBERNETES"),
    ],
)
def test_a_variable_that_is_no_options_is_refused_with_the_nearest(tmp_path, name, near):
    done = run("audit", SAMPLE, "--report", "r", cwd=tmp_path, **{name: "secret"})
    assert (done.code, done.stdout) == (2, "")
    assert f"{name}: no option has this environment variable; the nearest is {near}" in done.stderr
    assert "secret" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["AUDITOR_VERSION", "AUDITOR_BUILD", "AUDITOR_HOME"])
def test_one_of_another_user_is_a_warning(tmp_path, name):
    done = run("version", cwd=tmp_path, **{name: "1.2"})
    assert done.code == 0
    assert done.stderr.startswith(f"warning: {name}: no option has this environment variable")


@pytest.mark.parametrize(
    "name",
    ["AUDITOR_SERVICE_HOST", "AUDITOR_PORT", "AUDITOR_AUDIT_SERVICE_PORT_HTTPS", "AUDITOR_PORT_80_TCP_ADDR",
     "AUDITOR_AUDIT_PORT_443_TCP", "AUDITOR_KMS_VERSION", "AUDITOR_INSECURE_HTTP"],
)  # fmt: skip
def test_what_a_kubelet_or_we_ourselves_set_is_neither(tmp_path, name):
    done = run("version", cwd=tmp_path, **{name: "1"})
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["AUDITOR_AUDIT_SELECTOR", "AUDITOR_AUDIT_LABELS"])
def test_a_variable_may_have_the_name_of_the_flag(tmp_path, name):
    done = run("audit", SAMPLE, "--report", "r", "--fail-on", "never", cwd=tmp_path, **{name: "a b"})
    assert done.code == 2
    assert "unable to parse requirement: found 'b'" in done.stderr


def test_help_is_there_whatever_the_environment(tmp_path):
    assert run("-h", cwd=tmp_path, AUDITOR_AUDIT_FAIL_NO="x").code == 0
