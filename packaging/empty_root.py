"""A root folder with an interpreter and the C library alone, as an older or a newer Debian has them, to install into like a user.

    root = EmptyRoot.make("bullseye", Path("build/wheel/roots"))
    subprocess.run(root.command(["/usr/bin/python3.9", "-c", "..."], home=Path("home"), shown={Path("wheels"): "/shown"}))

The suites are those of debian_suite.py.

Why: on the machine that built a wheel everything that it could ask for is there. In the root are no compiler, no package
of the kind -dev, no library but what Python and TensorFlow ask for, and no path of this machine.
A command there runs as a user without rights, in namespaces of its own for mounts and processes: nothing in /tmp can be run,
/proc is its own, and of this machine it sees what `shown` and `written` name, and `home`. The network is this machine's.
Limits: needs root, and apt with Debian's archive keys. The packages are downloaded once for each folder (23 MB).
"""
from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from debian_suite import KEYS, PYTHONS, DebianSuite

NETWORK = ("/etc/hosts", "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt")
HOME = "/user"
USER = 1000
# What Debian's base system has of these is no use to a wheel.
LEFT_OUT = re.compile(r"(debconf|dpkg|perl-base|tar|openssl|gcc-\d+-base|init-system-helpers)_")
# $1: the root, $2: more mounts; the command follows.
ENTER = """
set -e
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t tmpfs -o noexec,nosuid,mode=1777 tmpfs "$1/tmp"
for device in null zero urandom; do mount --bind "/dev/$device" "$1/dev/$device"; done
eval "$2"
mount -o remount,bind,ro "$1"
shift 2
exec "$@"
"""


def may_be_made() -> str:
    """Why not; empty where one can be made."""
    if os.geteuid() != 0:
        return "only root can make an empty root"
    if not Path(KEYS).exists():
        return "no keys of Debian's archive"
    mount = "mount -t tmpfs tmpfs /mnt && mkdir /mnt/proc && mount -t proc proc /mnt/proc"
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "/bin/sh", "-c", mount], capture_output=True)
    return "" if tried.returncode == 0 else "the machine does not let a process have mounts of its own"


@dataclass
class EmptyRoot:
    folder: Path
    suite: str

    @classmethod
    def make(cls, suite: str, place: Path) -> EmptyRoot:
        """Raises debian_suite.Unavailable."""
        root = cls(place.resolve() / suite, suite)
        if not (root.folder / "etc/passwd").exists():
            root._fill(place.resolve())
        (root.folder / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
        for file in NETWORK:  # for pip, and as they are now
            if Path(file).exists():
                shutil.copy(file, f"{root.folder}{file}")
        return root

    def _fill(self, place: Path) -> None:
        packages = ["libc6", "libstdc++6", f"python{PYTHONS[self.suite]}-venv"]
        for package in DebianSuite(self.suite, place / f"{self.suite}-packages").download(*packages):
            if not LEFT_OUT.match(package.name):
                subprocess.run(["dpkg-deb", "-x", package, self.folder], check=True)
        for part in ("bin", "sbin", "lib", "lib64"):  # as Debian itself has merged them
            if not (self.folder / part).exists() and (self.folder / "usr" / part).exists():
                (self.folder / part).symlink_to(f"usr/{part}")
        for part in ("dev", "user", "proc", "shown", "tmp"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        for device in ("null", "zero", "urandom"):
            (self.folder / "dev" / device).touch()
        subprocess.run(["ldconfig", "-r", self.folder], check=True, capture_output=True)
        (self.folder / "etc/passwd").write_text(f"user:x:{USER}:{USER}::{HOME}:/bin/false\n")

    @property
    def python(self) -> str:
        return PYTHONS[self.suite]

    def command(self, words: list[str], home: Path, shown: dict[Path, str] | None = None, written: dict[Path, str] | None = None,
                user: int = USER, environment: dict[str, str] | None = None) -> list[str]:
        """What runs `words` there. `shown` and `written` say where folders of this machine lie in the root."""
        mounts = []
        for path, name in {home: HOME, **(written or {}), **(shown or {})}.items():
            inside = shlex.quote(f"{self.folder}{name}")
            mounts.append(f"mkdir -p {inside}; mount --bind {shlex.quote(str(path.resolve()))} {inside}")
            if path in (shown or {}):
                mounts.append(f"mount -o remount,bind,ro {inside}")
        clean = {"HOME": HOME, "PATH": "/usr/bin", "LANG": "C.UTF-8", **(environment or {})}
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "/bin/bash", "-c", ENTER,
                "empty_root", str(self.folder), "; ".join(mounts), "/usr/bin/env", "-i",
                *(f"{name}={value}" for name, value in clean.items()), "/usr/sbin/chroot", f"--userspec={user}:{user}",
                str(self.folder), *words]
