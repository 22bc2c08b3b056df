"""How pip builds from source (PEP 517): by scripts/setup and scripts/wheel, and with a clear line where that cannot work.

    pip install tektite-0.1.0.tar.gz                            # the wheel for every TensorFlow: downloads 2 GB
    pip install tektite-0.1.0.tar.gz -C versions=2.21 -C jobs=4 # a hook for one TensorFlow alone
    pip install .                                               # the same from a checkout

`versions`, `pythons` and `jobs` are scripts/wheel's options. Nothing of the system is changed: what Debian's packages hold
has to be there. pip shows what the scripts print with -v.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import make_sdist
import make_wheel

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ("versions", "pythons", "jobs")
# What pip sets for a build in isolation would reach the environments that the scripts make.
OF_PIP = ("PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "PIP_BUILD_TRACKER", "PIP_REQ_TRACKER", "PIP_NO_INDEX", "VIRTUAL_ENV")

Settings = "dict[str, str] | None"


def run(*words: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in OF_PIP}
    if done := subprocess.run(words, cwd=ROOT, env=environment).returncode:
        sys.exit(f"tektite: {' '.join(words)} failed ({done}); pip install -v shows what it said")


def missing_packages() -> list[str]:
    return subprocess.run(["scripts/setup", "--missing"], cwd=ROOT, text=True, capture_output=True).stdout.split()


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    if missing := missing_packages():
        sys.exit("tektite: to build it from source takes Debian 12 with these packages; as root: apt-get install "
                 f"{' '.join(missing)}\ntektite: its wheel needs none of them")
    return []


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return []


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    return make_sdist.write(Path(sdist_directory)).name


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    options = [f"--{name}={config_settings[name]}" for name in OPTIONS if config_settings and name in config_settings]
    jobs = [option for option in options if option.startswith("--jobs=")]
    run("scripts/setup", "--no-apt", *(word for option in jobs for word in option.split("=", 1)))
    run("scripts/wheel", "--no-setup", *(word for option in options for word in option.split("=", 1)))
    name = f"tektite-{make_wheel.version_of_package()}-py3-none-*.whl"
    wheel = max((ROOT / "build/wheel").glob(name), key=lambda path: path.stat().st_mtime)
    shutil.copy(wheel, wheel_directory)
    return wheel.name
