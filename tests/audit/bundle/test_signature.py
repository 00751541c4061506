"""A signature is of this bundle and by this key: another key or bundle, or a changed statement, is refused."""

import base64
import json
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from cfeval.core.hashes import digest
from cfeval_audit.bundle.signature import signed, statement
from tests.audit.bundle.study import contents
from tests.conftest import Run

PASSWORD = "not a secret"


def new_key(place: Path, kind: str = "ed25519", password: str = "") -> Path:
    """A key as a user makes one."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen here")
    words = ["ssh-keygen", "-q", "-t", kind, "-N", password, "-C", "test", "-f", str(place)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return place


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return new_key(tmp_path / "id")


@pytest.fixture
def signed_bundle(bundle: Path, key: Path, tmp_path: Path, cfeval: Run) -> Path:
    """A bundle with its signature next to it."""
    path = Path(shutil.copy(bundle, tmp_path / "bundle.zip"))
    status, out, _ = cfeval("audit", "sign", path, "--key", key)
    assert status == 0
    assert out.startswith(f"{path}.dsse.json: signs the bundle with the head ")
    return path


def public(key: Path) -> Path:
    return key.with_name(f"{key.name}.pub")


def envelope(bundle: Path) -> Path:
    return bundle.with_name(f"{bundle.name}.dsse.json")


def test_a_bundle_signed_by_the_key_is_fine(signed_bundle: Path, key: Path, cfeval: Run) -> None:
    status, out, _ = cfeval("verify", signed_bundle, "--key", public(key))
    assert status == 0
    shown = subprocess.run(["ssh-keygen", "-lf", str(public(key))], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == f"signed by {shown.split()[1]}"


def test_the_envelope_is_as_the_specifications_have_it(signed_bundle: Path, key: Path) -> None:
    content = json.loads(envelope(signed_bundle).read_text())
    payload = base64.b64decode(content["payload"])
    kind = content["payloadType"]
    over = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    load_ssh_public_key(public(key).read_bytes()).verify(base64.b64decode(content["signatures"][0]["sig"]), over)  # type: ignore[call-arg, union-attr, arg-type]
    stated = json.loads(payload)
    assert (kind, stated["_type"]) == ("application/vnd.in-toto+json", "https://in-toto.io/Statement/v1")
    head = digest(contents(signed_bundle)["manifest-sha256.txt"])
    assert stated["subject"] == [{"name": "manifest-sha256.txt", "digest": {"sha256": head}}]


def test_equal_bundles_get_equal_signatures(signed_bundle: Path, key: Path, cfeval: Run) -> None:
    before = envelope(signed_bundle).read_bytes()
    assert cfeval("audit", "sign", signed_bundle, "--key", key)[0] == 0
    assert envelope(signed_bundle).read_bytes() == before


def one_line(cfeval: Run, bundle: Path, key: Path) -> str:
    status, _, err = cfeval("verify", bundle, "--key", key)
    assert status == 2
    assert err.count("\n") == 1
    return err


def test_another_key_is_refused(signed_bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    assert "not signed by" in one_line(cfeval, signed_bundle, public(new_key(tmp_path / "other")))


def test_a_signature_that_is_gone_is_refused(signed_bundle: Path, key: Path, cfeval: Run) -> None:
    envelope(signed_bundle).unlink()
    assert "no signature; `cfeval audit sign` makes one" in one_line(cfeval, signed_bundle, public(key))


@pytest.mark.parametrize("field", ["payload", "sig", "payloadType", "signatures"])
def test_a_changed_envelope_is_refused(signed_bundle: Path, key: Path, cfeval: Run, field: str) -> None:
    content = json.loads(envelope(signed_bundle).read_text())
    if field == "payload":
        stated = json.loads(base64.b64decode(content["payload"]))
        stated["predicate"]["bundle"] = "another.zip"
        content["payload"] = base64.b64encode(json.dumps(stated).encode()).decode()
    elif field == "sig":
        content["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode()
    else:
        content[field] = [] if field == "signatures" else "text/plain"
    envelope(signed_bundle).write_text(json.dumps(content))
    assert "sign" in one_line(cfeval, signed_bundle, public(key))


def test_the_signature_of_another_bundle_is_refused(signed_bundle: Path, key: Path, cfeval: Run) -> None:
    envelope(signed_bundle).write_text(signed(statement("0" * 64, {}), key, bytes))
    assert "signs another bundle" in one_line(cfeval, signed_bundle, public(key))


def test_a_locked_key_asks_for_its_password(tmp_path: Path) -> None:
    locked = new_key(tmp_path / "locked", password=PASSWORD)
    if find_spec("bcrypt") is None:
        with pytest.raises(ModuleNotFoundError, match="needs the package 'bcrypt'"):
            signed(b"{}", locked, PASSWORD.encode)
        return
    assert "payload" in signed(b"{}", locked, PASSWORD.encode)
    with pytest.raises(Exception, match="no private key that can be used"):
        signed(b"{}", locked, b"wrong".lower)


@pytest.mark.slow
def test_what_is_no_ed25519_key_is_one_line(signed_bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    other = new_key(tmp_path / "rsa", "rsa")
    for wrong in (other, tmp_path / "none", signed_bundle):
        status, _, err = cfeval("audit", "sign", signed_bundle, "--key", wrong)
        assert status == 2
        assert err.count("\n") == 1
        assert str(wrong) in err
    assert "not an Ed25519 key" in one_line(cfeval, signed_bundle, public(other))
