"""What of the package's metadata depends on where it is built: links, addresses, and the packages of the checkout.

Links of the README lead to files of the repository. A package index shows the text without them, so there the links
are absolute. The repository's address is that of the git remote `origin`; where there is none, a link to a file is left
as its words alone: better no link than a dead one.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

BESIDE = {"cfeval-testbed": "packages/cfeval_testbed", "cfeval-audit": "packages/cfeval_audit"}
"""Packages of the checkout that extras bring, by the folders that they are built from."""
RELEASE = "CFEVAL_RELEASE"
"""Set by `make dist`: a package index takes no requirement that names a folder."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\((?!\w+:|#)([^)\s]+)\)")
_ATTRIBUTE = re.compile(r'(src|srcset)="(?!\w+:)([^"]+)"')


class CustomMetadataHook(MetadataHookInterface):
    """Adds the long description, project URLs and extras."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add them; a source distribution has them from the checkout that it was built in."""
        root, address = Path(self.root), address_of(Path(self.root))
        if "readme" not in metadata:
            text = (root / "README.md").read_text(encoding="utf-8")
            metadata["readme"] = {"content-type": "text/markdown", "text": described(text, address)}
        if "urls" not in metadata and address:
            metadata["urls"] = urls(address)
        if "optional-dependencies" not in metadata:
            metadata["optional-dependencies"] = extras(self.config["optional-dependencies"], root)


def address_of(root: Path) -> str:
    """The web address of the repository, by its remote `origin`; empty where there is none."""
    command = ["git", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        remote = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git
        return ""
    return web_address(remote)


def web_address(remote: str) -> str:
    """The address that a browser opens, of a git remote at a host, without user and password; else empty."""
    remote = re.sub(r"^[\w.-]+@([\w.-]+):(?!//)", r"https://\1/", remote)
    host = re.fullmatch(r"(?:https?|ssh|git)://(?:[^@/]*@)?([\w.-]+)(?::\d+)?/(.+?)(?:\.git)?/?", remote)
    return f"https://{host[1]}/{host[2]}" if host else ""


def described(readme: str, address: str) -> str:
    """The README with absolute links; without those to files, and without images, where there is no address."""
    if not address:
        readme = re.sub(r"<picture>.*?</picture>\n*", "", readme, flags=re.DOTALL)
        return _LINK.sub(lambda link: "" if link[1] else link[2], readme)
    readme = _ATTRIBUTE.sub(lambda found: f'{found[1]}="{address}/raw/HEAD/{found[2]}"', readme)

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{_LINK.sub(absolute, link[2])}]({address}/{kind}/HEAD/{link[3]})"

    return _LINK.sub(absolute, readme)


def urls(address: str) -> dict[str, str]:
    """The project's addresses, by the names that package indexes know."""
    pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}
    return {
        "Source": address,
        **{name: f"{address}/blob/HEAD/{file}" for name, file in pages.items()},
        "Issues": f"{address}/issues",
    }


def extras(listed: dict[str, list[str]], root: Path) -> dict[str, list[str]]:
    """The extras, with packages of this project taken from the checkout that is being built, where it is one."""
    if RELEASE in os.environ:
        return listed

    def of_checkout(requirement: str) -> str:
        name = re.split(r"[<>=\[ ]", requirement)[0]
        folder = root / BESIDE.get(name, "")
        return f"{name} @ {folder.as_uri()}" if name in BESIDE and folder.is_dir() else requirement

    return {name: [of_checkout(requirement) for requirement in found] for name, found in listed.items()}
