"""A time stamp of a signature (RFC 3161): an authority that both sides trust says when the signature was there.

The stamp is over the bytes of the signature's file, and its own file is the authority's whole answer, so that
`openssl ts -verify` reads it too. It is checked offline, against the root certificate of the authority.
"""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from cfeval.core.errors import InputError

if TYPE_CHECKING:
    from rfc3161_client import TimeStampResponse

ENDING = ".tsr"
"""What the name of a time stamp adds to that of the signature."""
TYPE = "application/timestamp-query"
SECONDS = 60.0
"""How long an authority may take."""


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


def check(file: Path, content: bytes, roots: Path) -> datetime:
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


def _read(file: Path, missing: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        raise InputError(f"{file}: {missing}") from None
