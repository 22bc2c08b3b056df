"""An environment of TensorFlow and Tektite's wheel, as a user has it: on this system, or in an empty root.

    with tempfile.TemporaryDirectory() as folder:
        here = CleanEnvironment(Path(folder), python=Path("/usr/bin/python3"))         # or root=EmptyRoot.make(...)
        why_not = here.install_packages("tensorflow-cpu==2.16.2") or here.install_wheel(wheel)
        here.run(["tektite", "doctor"], seconds=300, TEKTITE="1")

No compiler is found by a command's PATH, and nothing of the caller's variables reaches it. pip runs with the caller's, so that
its index, its certificates and its cache are used. A folder that holds an environment already is used again, with a new home.
"""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from empty_root import USER, EmptyRoot

CACHE = "/shown/cache"


class CleanEnvironment:
    def __init__(self, folder: Path, python: Path | None = None, root: EmptyRoot | None = None) -> None:
        self.root = root
        self.home = folder / "home"
        self.installed = folder / "installed"  # what pip writes, which the user only reads
        shutil.rmtree(self.home, ignore_errors=True)
        for part in (self.home, self.installed):
            part.mkdir(parents=True, exist_ok=True)
        if root is not None:
            os.chown(self.home, USER, USER)
            self.python = f"/usr/bin/python{root.python}"
            self.venv = "/installed/venv"
        else:
            self.python = str(python)
            self.venv = str(self.installed / "venv")

    def run(self, words: list[str], seconds: int, shown: dict[Path, str] | None = None, memory: int = 0,
            **environment: str) -> subprocess.CompletedProcess[str]:
        """`words` begin with a program of the environment's. `memory`: the most address space in bytes, where there is a root."""
        clean = {"TF_CPP_MIN_LOG_LEVEL": "3", "LANG": "C.UTF-8", "PATH": f"{self.venv}/bin", **environment}
        words = [f"{self.venv}/bin/{words[0]}", *words[1:]]
        if self.root is None:
            clean["HOME"] = str(self.home)
        else:
            shown = {self.installed: "/installed", **(shown or {})}
            words = self.root.command(words, self.home, shown, environment=clean)
            words = ["prlimit", f"--as={memory}", *words] if memory else words
            clean = dict(os.environ)
        return subprocess.run(words, env=clean, text=True, capture_output=True, timeout=seconds)

    def _run_pip(self, words: list[str], wheels: Path | None) -> str:
        """Why it did not succeed; empty where it did."""
        environment = {name: value for name, value in os.environ.items()
                       if name.startswith("PIP_") or name.lower().endswith("_proxy")} | {"PIP_ROOT_USER_ACTION": "ignore"}
        of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        cache = Path(os.environ.get("PIP_CACHE_DIR") or of_user / "pip")
        if self.root is None:
            environment = {**os.environ, **environment}
        else:
            cache.mkdir(parents=True, exist_ok=True)
            words = self.root.command(words, self.home, shown={wheels: "/shown/wheel"} if wheels else {}, user=0, environment={
                **environment, "PIP_CACHE_DIR": CACHE}, written={self.installed: "/installed", cache: CACHE})
        done = subprocess.run(words, env=environment, text=True, capture_output=True, timeout=1800)
        return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"{words[-1]} failed"])[-1]

    def _install(self, words: list[str], wheels: Path | None = None) -> str:
        return self._run_pip([f"{self.venv}/bin/python", "-m", "pip", "--disable-pip-version-check", "install", "-q",
                              "--no-compile", *words], wheels)

    def install_packages(self, *packages: str) -> str:
        """Why it did not succeed, which is pip's or its index's fault; empty where it did."""
        if not (self.installed / "venv").exists() and (why := self._run_pip([self.python, "-m", "venv", self.venv], None)):
            return why
        return self._install(list(packages))

    def install_wheel(self, wheel: Path) -> str:
        """As install_packages, and the wheel's fault."""
        place = f"/shown/wheel/{wheel.name}" if self.root else str(wheel)
        return self._install(["--force-reinstall", "--no-deps", place], wheel.parent)

    def version_of(self, package: str) -> str:
        program = f"import importlib.metadata as m; print(m.version({package!r}))"
        done = self.run(["python", "-c", program], 60)
        return done.stdout.strip() if done.returncode == 0 else ""
