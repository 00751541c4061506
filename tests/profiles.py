"""Colour profiles written byte by byte (ICC.1:2001-04), and what they mean, by arithmetic of our own."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
# Primaries and white adapted to D50, as columns (IEC 61966-2-1; SMPTE EG 432-1; Adobe RGB (1998), annex).
SRGB = np.array([[0.43607, 0.38515, 0.14307], [0.22249, 0.71687, 0.06061], [0.01392, 0.09708, 0.71410]])
P3 = np.array([[0.51512, 0.29198, 0.15710], [0.24120, 0.69225, 0.06657], [-0.00105, 0.04189, 0.78407]])
ADOBE = np.array([[0.60974, 0.20528, 0.14919], [0.31111, 0.62567, 0.06322], [0.01947, 0.06087, 0.74457]])
D50 = np.array([0.9642, 1.0, 0.8249])


def fixed(value: float) -> bytes:
    return struct.pack(">i", round(value * 65536))


def xyz(values: Sequence[float]) -> bytes:
    return b"XYZ \0\0\0\0" + b"".join(map(fixed, values))


def gamma_curve(gamma: float) -> bytes:
    return b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256))


def srgb_curve() -> bytes:
    table = np.round(65535 * decoded(np.linspace(0, 1, 1024))).astype(">u2")
    return b"curv\0\0\0\0" + struct.pack(">I", len(table)) + table.tobytes()


def described(name: str) -> bytes:
    text = name.encode("ascii") + b"\0"
    return b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + bytes(78)


def profile(space: str, name: str, tags: dict[bytes, bytes], pcs: bytes = b"XYZ ", kind: bytes = b"mntr") -> bytes:
    whole = {b"desc": described(name), b"wtpt": xyz(D50), b"cprt": b"text\0\0\0\0none\0"} | tags
    start = 128 + 4 + 12 * len(whole)
    table, data = struct.pack(">I", len(whole)), b""
    for sign, content in whole.items():
        table += sign + struct.pack(">II", start + len(data), len(content))
        data += content + bytes(-len(content) % 4)
    head = struct.pack(">I4sI4s4s4s", start + len(data), b"none", 0x02100000, kind, space.encode().ljust(4), pcs)
    head += bytes(12) + b"acsp" + bytes(28) + b"".join(map(fixed, D50))
    return head.ljust(128, b"\0") + table + data


def matrix_profile(name: str, primaries: Floats, curve: bytes) -> bytes:
    columns = {sign: xyz(primaries[:, at]) for at, sign in enumerate((b"rXYZ", b"gXYZ", b"bXYZ"))}
    return profile("RGB", name, columns | dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve))


def grey_profile(name: str, gamma: float) -> bytes:
    return profile("GRAY", name, {b"kTRC": gamma_curve(gamma)})


def ink_profile(name: str) -> bytes:
    """A CMYK profile by a table of the 16 corners, in Lab of 8 bits: `ink_lab`."""
    corners = [ink_lab(np.array([c, m, y, k])) for c in (0, 1) for m in (0, 1) for y in (0, 1) for k in (0, 1)]
    lab = np.array([[L * 2.55, a + 128, b + 128] for L, a, b in corners]).round().astype(np.uint8)
    straight = np.arange(256, dtype=np.uint8).tobytes()
    lut = b"mft1\0\0\0\0" + bytes([4, 3, 2, 0]) + b"".join(fixed(float(x)) for x in np.eye(3).ravel())
    return profile("CMYK", name, {b"A2B0": lut + straight * 4 + lab.tobytes() + straight * 3}, b"Lab ", b"prtr")


def ink_lab(inks: Floats) -> Floats:
    """The colour of full or no ink of each kind, in Lab."""
    c, m, y, k = inks
    return np.array([(100 - 25 * c - 30 * m - 5 * y) * (1 - k), 20 * (m - c) * (1 - k), 25 * (y - c) * (1 - k)])


def decoded(values: Floats) -> Floats:
    """Linear light of sRGB values."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def encoded(light: Floats) -> Floats:
    """SRGB values of linear light."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def of_matrix(values: Floats, primaries: Floats, gamma: float | None) -> Floats:
    """SRGB values of RGB values, (…, 3) in [0, 1]; gamma None is the curve of sRGB."""
    light = decoded(values) if gamma is None else values**gamma
    return encoded(light @ (np.linalg.inv(SRGB) @ primaries).T)


def of_lab(lab: Floats) -> Floats:
    """SRGB values of Lab under D50, (…, 3)."""
    fy = (lab[..., 0] + 16) / 116
    f = np.stack([fy + lab[..., 1] / 500, fy, fy - lab[..., 2] / 200], -1)
    whole = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29)) * D50
    return encoded(whole @ np.linalg.inv(SRGB).T)
