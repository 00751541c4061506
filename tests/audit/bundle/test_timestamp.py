"""A time stamp is of this signature, by an authority that is trusted, and is checked offline."""

import datetime
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.audit.bundle.authority import Authority
from tests.audit.bundle.test_signature import envelope, new_key, public
from tests.conftest import Run


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "one")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return new_key(tmp_path / "id")


@pytest.fixture
def stamped(authority: Authority, bundle: Path, key: Path, tmp_path: Path, cfeval: Run) -> Path:
    """A bundle with its signature and the time stamp of that."""
    path = Path(shutil.copy(bundle, tmp_path / "bundle.zip"))
    with authority.served() as url:
        status, out, err = cfeval("audit", "sign", path, "--key", key, "--timestamp", url)
    assert status == 0, err
    assert out.splitlines()[-1] == f"{stamp(path)}: the time stamp of {url}"
    return path


def stamp(bundle: Path) -> Path:
    return envelope(bundle).with_name(f"{envelope(bundle).name}.tsr")


def test_a_stamped_signature_is_fine_offline_and_openssl_says_the_same(
    stamped: Path, authority: Authority, key: Path, cfeval: Run
) -> None:
    status, out, _ = cfeval("verify", stamped, "--key", public(key), "--tsa-root", authority.root)
    assert status == 0
    last = out.splitlines()[-1]
    assert last.endswith(f"by the clock of an authority of {authority.root}")
    told = datetime.datetime.strptime(last[14:37], "%Y-%m-%d %H:%M:%S %Z").replace(tzinfo=datetime.UTC)
    assert abs(datetime.datetime.now(datetime.UTC) - told) < datetime.timedelta(hours=1)
    words = ["openssl", "ts", "-verify", "-data", envelope(stamped), "-in", stamp(stamped), "-CAfile", authority.root]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_a_stamp_that_nobody_asks_about_is_told(stamped: Path, key: Path, cfeval: Run) -> None:
    status, out, _ = cfeval("verify", stamped, "--key", public(key))
    assert (status, f"could not be checked: {stamp(stamped)}" in out) == (0, True)


@pytest.mark.slow
def test_another_signature_or_authority_and_a_changed_or_lost_stamp_are_refused(
    stamped: Path, authority: Authority, key: Path, tmp_path: Path, cfeval: Run
) -> None:
    def refused(root: Path) -> str:
        status, _, err = cfeval("verify", stamped, "--key", public(key), "--tsa-root", root)
        assert status == 2
        assert err.count("\n") == 1
        return err

    assert "by an authority of" in refused(Authority(tmp_path / "other").root)
    assert "no certificate in PEM form" in refused(public(key))
    assert "no such certificate" in refused(tmp_path / "none.pem")
    content = stamp(stamped).read_bytes()
    for at in (len(content) // 3, len(content) - 9):
        stamp(stamped).write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        assert str(stamp(stamped)) in refused(authority.root)
    stamp(stamped).write_bytes(content[:40])
    assert "no answer of a time-stamping authority" in refused(authority.root)
    stamp(stamped).write_bytes(content)
    envelope(stamped).write_text(envelope(stamped).read_text() + " ")  # the same statement, other bytes
    assert "no time stamp of this signature" in refused(authority.root)
    stamp(stamped).unlink()
    assert "no time stamp; `cfeval audit sign --timestamp URL` gets one" in refused(authority.root)


def test_an_authority_that_does_not_stamp_leaves_nothing_behind(
    authority: Authority, bundle: Path, key: Path, tmp_path: Path, cfeval: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(bundle, tmp_path / "bundle.zip"))

    def refused(url: str) -> str:
        status, _, err = cfeval("audit", "sign", path, "--key", key, "--timestamp", url)
        assert (status, err.count("\n"), err.startswith(f"cfeval: {url}")) == (2, 1, True)
        assert not envelope(path).exists()
        assert not stamp(path).exists()
        return err

    with authority.served() as url:
        earlier = authority.reply((authority.place / "query.tsq").read_bytes())
        monkeypatch.setattr(authority, "answer", earlier)
        assert "is a time stamp of something else" in refused(url)
        monkeypatch.setattr(authority, "answer", b"hello")
        assert "no answer of a time-stamping authority" in refused(url)
        monkeypatch.setattr(authority, "status", 503)
        assert "HTTP status 503" in refused(url)
    assert "no time stamp came back" in refused(url)
    assert "no time stamp came back" in refused("ftp://nowhere")


def test_a_root_needs_a_key(bundle: Path, tmp_path: Path, cfeval: Run) -> None:
    assert "--tsa-root: name the public key" in cfeval("verify", bundle, "--tsa-root", tmp_path)[2]
