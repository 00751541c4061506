"""A signature of a bundle: an in-toto statement in a DSSE envelope, made with an SSH key (Ed25519), checked offline.

Specifications: in-toto Statement v1; DSSE 1.0, whose signature is over the type and the bytes of the payload.

A time stamp of the signature (RFC 3161) says when it was there, by an authority that both sides trust. The stamp is
over the bytes of the signature's file, and its own file is the authority's whole answer, so that `openssl ts -verify`
reads it too. It is checked offline, against the root certificate of the authority.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfeval.core.errors import InputError
from cfeval.core.extras import require
from cfeval_audit.bundle.contents import MANIFEST

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from datetime import datetime
from typing import TYPE_CHECKING

import httpx2

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse


PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:cfeval:audit-bundle:v1"
ENDING = ".dsse.json"
"""What the name of a signature adds to that of its bundle."""


def statement(head: str, about: Mapping[str, Any]) -> bytes:
    """What is signed: that the bundle is the one with this manifest.

    Args:
        head: SHA-256 of the manifest.
        about: what else is stated, as JSON can hold it.
    """
    content = {
        "_type": STATEMENT,
        "subject": [{"name": MANIFEST, "digest": {"sha256": head}}],
        "predicateType": PREDICATE,
        "predicate": dict(about),
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def signed(payload: bytes, key: Path, password: Callable[[], bytes]) -> str:
    """The envelope of a payload; the same key and payload give the same bytes.

    Args:
        payload: what is signed.
        key: a private key as `ssh-keygen -t ed25519` makes it.
        password: what unlocks the key; called only where it is locked.

    Raises:
        InputError: the file is no such key, or the password is another one.
    """
    require("cryptography")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    content = _read(key, "no such key; `ssh-keygen -t ed25519` makes one")
    try:
        try:
            private: Any = load_ssh_private_key(content, None)
        except (TypeError, UnsupportedAlgorithm):  # it is locked
            require("bcrypt")
            private = load_ssh_private_key(content, password())
    except ModuleNotFoundError:
        raise
    except Exception as error:  # the library has an error of its own for each way in which a file is no key
        raise InputError(f"{key}: no private key that can be used ({type(error).__name__})") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise InputError(f"{key}: not an Ed25519 key; `ssh-keygen -t ed25519` makes one")
    signature = {"keyid": fingerprint(private.public_key()), "sig": _text(private.sign(encoded(payload)))}
    envelope = {"payload": _text(payload), "payloadType": PAYLOAD, "signatures": [signature]}
    return json.dumps(envelope, indent=1) + "\n"


def check(envelope: Path, key: Path, head: str) -> str:
    """Check that a key has signed a bundle.

    Args:
        envelope: the signature's file.
        key: a public key as `ssh-keygen` writes it (`….pub`).
        head: SHA-256 of the bundle's manifest.

    Returns:
        The fingerprint of the key.

    Raises:
        InputError: there is no signature, it is of another key or bundle, or was changed.
    """
    from cryptography.exceptions import InvalidSignature

    require("cryptography")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        public: Any = load_ssh_public_key(_read(key, "no such key"))
    except InputError:
        raise
    except Exception as error:  # as above
        raise InputError(f"{key}: no public key that can be used ({type(error).__name__})") from None
    if not isinstance(public, Ed25519PublicKey):
        raise InputError(f"{key}: not an Ed25519 key")
    payload, signatures = _opened(envelope)
    own = fingerprint(public)
    for signature in signatures:
        try:
            public.verify(signature, encoded(payload))
        except InvalidSignature:
            continue
        content = json.loads(payload)
        subject = {entry["name"]: entry["digest"]["sha256"] for entry in content["subject"]}
        if (content["_type"], content["predicateType"], subject) != (STATEMENT, PREDICATE, {MANIFEST: head}):
            raise InputError(f"{envelope}: signs another bundle than the one with the head {head}")
        return own
    raise InputError(f"{envelope}: not signed by {key} ({own}), or changed since it was signed")


def encoded(payload: bytes) -> bytes:
    """What a signature is over: DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def fingerprint(public: "Ed25519PublicKey") -> str:
    """The name of a key, as `ssh-keygen -l` shows it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    blob = base64.b64decode(public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).split()[1])
    return f"SHA256:{_text(hashlib.sha256(blob).digest()).rstrip('=')}"


def _opened(envelope: Path) -> tuple[bytes, list[bytes]]:
    try:
        content = json.loads(_read(envelope, "no signature; `cfeval audit sign` makes one"))
        signatures = [base64.b64decode(entry["sig"], validate=True) for entry in content["signatures"]]
        if content["payloadType"] != PAYLOAD:
            raise ValueError("another type")
        return base64.b64decode(content["payload"], validate=True), signatures
    except (ValueError, KeyError, TypeError, binascii.Error):
        raise InputError(f"{envelope}: no signature of a bundle; take it from where it came from again") from None


def _read(file: Path, missing: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        raise InputError(f"{file}: {missing}") from None


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


# What the name of a time stamp adds to that of the signature.
STAMP_ENDING = ".tsr"
TYPE = "application/timestamp-query"
# How long an authority may take.
SECONDS = 60.0


def stamped(content: bytes, url: str) -> bytes:
    """Have an authority stamp some bytes, of which it is sent the SHA-256 alone; returns its answer.

    Args:
        content: what is stamped.
        url: of the authority.

    Raises:
        InputError: it cannot be reached, or its answer is no time stamp of these bytes.
    """
    library = _library()
    query = library.TimestampRequestBuilder().data(content).hash_algorithm(library.HashAlgorithm.SHA256).build()
    try:
        reply = httpx2.post(url, content=query.as_bytes(), headers={"Content-Type": TYPE}, timeout=SECONDS)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise InputError(f"{url}: no time stamp came back ({error or type(error).__name__})") from None
    if reply.status_code != httpx2.codes.OK:
        raise InputError(f"{url}: no time stamp came back (HTTP status {reply.status_code})")
    answer = _decoded(reply.content, url)
    if library.PKIStatus(answer.status) != library.PKIStatus.GRANTED:
        raise InputError(f"{url}: refused to stamp ({' '.join(answer.status_string) or f'status {answer.status}'})")
    info = answer.tst_info
    if (info.nonce, info.message_imprint.message) != (query.nonce, query.message_imprint.message):
        raise InputError(f"{url}: what came back is a time stamp of something else; nothing was written")
    return reply.content


def check_stamp(file: Path, content: bytes, roots: Path) -> datetime:
    """Check a time stamp.

    Args:
        file: the stamp.
        content: what must have been stamped.
        roots: the root certificates (PEM) of the authorities that are trusted.

    Returns:
        When the authority saw it.

    Raises:
        InputError: there is no stamp, it is of something else, or of an authority with another root.
    """
    library = _library()
    builder = library.VerifierBuilder()
    for certificate in _certificates(roots):
        builder = builder.add_root_certificate(certificate)
    answer = _decoded(_read(file, "no time stamp; `cfeval audit sign --timestamp URL` gets one"), str(file))
    try:
        builder.build().verify_message(answer, content)
    except library.VerificationError as error:
        raise InputError(f"{file}: no time stamp of this signature by an authority of {roots} ({error})") from None
    seen: datetime = answer.tst_info.gen_time
    return seen


def _certificates(roots: Path) -> list[Any]:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificates(_read(roots, "no such certificate"))
    except ValueError:
        raise InputError(f"{roots}: no certificate in PEM form; ask the authority for its root certificate") from None


def _decoded(content: bytes, place: str) -> "TimeStampResponse":
    try:
        answer: TimeStampResponse = _library().decode_timestamp_response(content)
        return answer
    except ValueError as error:
        raise InputError(f"{place}: no answer of a time-stamping authority as RFC 3161 has it ({error})") from None


def _library() -> Any:
    try:
        import rfc3161_client
    except ModuleNotFoundError:
        raise InputError("time stamps need the package 'rfc3161_client': pip install 'cfeval[audit]'") from None
    return rfc3161_client
