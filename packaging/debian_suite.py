"""Packages of an older or a newer Debian than this one, by an apt of a folder's own: nothing is installed.

    DebianSuite("bullseye", Path("build/wheel/roots/bullseye-packages")).download("libc6", "python3.9-venv")
    debian_suite.py 3.14 build/wheel/python-3.14        # prints the folder of Python.h, fetched once

    suite      glibc   Python
    bullseye   2.31    3.9
    bookworm   2.36    3.11
    trixie     2.41    3.13
    forky      2.43    3.14

Limits: needs apt, and Debian's archive keys. No suite has Python 3.10 or 3.12.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

PYTHONS = {"bullseye": "3.9", "bookworm": "3.11", "trixie": "3.13", "forky": "3.14"}
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIGURATION = """
Dir::State "{0}/state";
Dir::State::status "{0}/status";
Dir::Cache "{0}/cache";
Dir::Etc::sourcelist "{0}/sources.list";
Dir::Etc::sourceparts "/dev/null";
APT::Architecture "amd64";
APT::Sandbox::User "";
"""


class Unavailable(RuntimeError):
    """The packages cannot be had."""


def _archive() -> str:
    """Where this machine's apt has Debian from; the variable DEBIAN_MIRROR names another place."""
    if mirror := os.environ.get("DEBIAN_MIRROR"):
        return mirror
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages", "Component: main"]
    lines = subprocess.run(command, check=True, text=True, capture_output=True).stdout.splitlines()
    places = [place for place, name in map(str.split, lines) if "-" not in name]  # no updates, no backports
    if not places:
        raise Unavailable("apt knows no archive of Debian's: DEBIAN_MIRROR names one")
    return places[0]


class DebianSuite:
    def __init__(self, suite: str, folder: Path) -> None:
        """`folder` is made, and holds apt's state and the packages. Raises Unavailable, as all that follow."""
        self.suite = suite
        self.folder = folder.resolve()
        for part in ("state/lists", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        (self.folder / "sources.list").write_text(f"deb [signed-by={KEYS}] {_archive()} {suite} main\n")
        (self.folder / "apt.conf").write_text(CONFIGURATION.format(self.folder))
        self._apt("update")

    def _apt(self, *words: str) -> None:
        environment = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf")}
        done = subprocess.run(["apt-get", "-q", *words], env=environment, cwd=self.folder / "cache/archives", text=True,
                              capture_output=True)
        if done.returncode != 0:
            raise Unavailable(f"apt-get {words[0]} for {self.suite}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")

    def _downloaded(self) -> list[Path]:
        return sorted((self.folder / "cache/archives").glob("*.deb"))

    def download(self, *packages: str) -> list[Path]:
        """With all that they depend on."""
        self._apt("-y", "--no-install-recommends", "--download-only", "install", *packages)
        return self._downloaded()

    def download_alone(self, *packages: str) -> list[Path]:
        self._apt("download", *packages)
        return self._downloaded()


def headers_of(python: str, folder: Path) -> Path:
    """The folder of Python.h."""
    include = folder / f"usr/include/python{python}"
    if not (include / "Python.h").exists():
        suite = next((suite for suite, version in PYTHONS.items() if version == python), None)
        if suite is None:
            raise Unavailable(f"no Debian has Python {python}")
        for package in DebianSuite(suite, folder / "packages").download_alone(f"libpython{python}-dev"):
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        # In the place of the one that looks for it in the system's folder.
        shutil.copy(folder / f"usr/include/x86_64-linux-gnu/python{python}/pyconfig.h", include)
    return include


def main() -> None:
    try:
        print(headers_of(sys.argv[1], Path(sys.argv[2])))
    except Unavailable as why:
        sys.exit(f"debian_suite: {why}")


if __name__ == "__main__":
    main()
