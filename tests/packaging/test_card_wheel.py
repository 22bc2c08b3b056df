"""The second wheel, tektite-cuda: what it holds and asks for, that its parts are found, and what `tektite doctor` says of it."""
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
PYTHON = ROOT / "runtime_hooks/tensorflow/python"
LIBRARY = ROOT / "build/cmake/runtime_hooks/c_api/libtektite.so"
DRIVER = ROOT / "build/cmake/tests/gpu/fake_driver"  # a card that is not there
sys.path.insert(0, str(PACKAGING))

import check_wheel  # noqa: E402
import make_cuda_wheel  # noqa: E402

VERSION = make_cuda_wheel.version_of_package()
PTXAS = """#!/bin/sh
echo "$@" >> {log}
echo "Cuda compilation tools, release 12.9, V12.9.86"
"""


def test_it_describes_and_holds_nothing_of_nvidias(tmp_path):
    path = make_cuda_wheel.make(tmp_path / "first")
    assert check_wheel.check(path) == []
    assert path.read_bytes() == make_cuda_wheel.make(tmp_path / "second").read_bytes()
    asked = make_cuda_wheel.requirements(VERSION)
    assert asked[0] == f"tektite=={VERSION}" and any("nvidia-cuda-nvcc-cu12" in each for each in asked)


def test_the_check_names_what_may_not_be_inside(tmp_path):
    path = make_cuda_wheel.make(tmp_path)
    with zipfile.ZipFile(path, "a") as wheel:
        wheel.writestr("nvidia/cuda_nvcc/bin/ptxas", b"\x7fELF")
    assert check_wheel.check(path) == ["nvidia/cuda_nvcc/bin/ptxas: is no part of a description"]
    other = path.with_name("tektite_cuda-9.9-py3-none-any.whl")
    with zipfile.ZipFile(path) as wheel, zipfile.ZipFile(other, "w") as copy:
        for name in wheel.namelist():
            data = wheel.read(name)
            copy.writestr(name.replace(f"-{VERSION}.", "-9.9."),
                          data.replace(f"-{VERSION}.".encode(), b"-9.9.") if name.endswith("RECORD") else data)
    assert "does not require tektite==9.9" in check_wheel.check(other)


@pytest.fixture
def site(tmp_path) -> Path:
    """Installed packages: the wheel, and a `tektite` with no hook for any TensorFlow, so that none is imported. Its compiler does not
    know where the build keeps NVIDIA's PTX compiler, as in a wheel."""
    site = tmp_path / "site-packages"
    shutil.copytree(PYTHON / "tektite", site / "tektite", ignore=shutil.ignore_patterns("__pycache__"))
    (site / "tektite/lib").mkdir()
    library = bytearray(LIBRARY.read_bytes())
    for match in re.finditer(rb"/[^\0]*/libtektite_ptx\.so\0", library):
        library[match.start()] = 0
    (site / "tektite/lib/libtektite.so").write_bytes(library)
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", site,
                    make_cuda_wheel.make(tmp_path)], check=True)
    return site


def doctor(site: Path, **environment: str) -> dict[str, dict[str, str]]:
    path = ":".join(folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "ptxas").exists())
    done = subprocess.run([sys.executable, "-m", "tektite", "doctor", "--json"], text=True, capture_output=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(site), "PATH": path, **environment})
    return {line["subject"]: line for line in json.loads(done.stdout)}


def test_the_doctor_finds_it_and_says_that_there_is_no_card(site):
    """In an environment of an empty driver folder: a machine with a card has its driver elsewhere, too."""
    said = doctor(site, LD_LIBRARY_PATH=str(DRIVER), TEKTITE_FAKE_DRIVER="cards=0")
    assert said["compiler"]["state"] == "ok"
    assert (said["cuda"]["state"], said["cuda"]["text"]) == ("ok", f"tektite-cuda {VERSION}")
    assert (said["card"]["state"], said["card"]["text"]) == ("off", "no card: the NVIDIA driver finds no card")


def test_the_assembler_of_nvidias_package_is_found_and_asked(site, tmp_path):
    """The compiler looked in PATH and in the toolkit's folder alone, which an environment of packages has not."""
    log, ptxas = tmp_path / "log", site / "nvidia/cuda_nvcc/bin/ptxas"
    ptxas.parent.mkdir(parents=True)
    ptxas.write_text(PTXAS.format(log=log))
    ptxas.chmod(0o755)
    library = site / "nvidia/cudnn/lib/libcudnn.so.9"
    library.parent.mkdir(parents=True)
    library.touch()
    said = doctor(site, LD_LIBRARY_PATH=str(DRIVER), TEKTITE_FAKE_DRIVER="cards=1")
    assert (said["assembler"]["state"], said["assembler"]["text"]) == ("ok", f"{ptxas}; cuDNN")
    assert said["card"]["state"] == "ok" and log.read_text() == "--version\n"


def test_a_wheel_of_another_version_is_a_failure_with_its_cure(site):
    info = next(site.glob("tektite_cuda-*.dist-info"))
    info.rename(info.with_name("tektite_cuda-0.0.1.dist-info"))
    metadata = site / "tektite_cuda-0.0.1.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace(f"\nVersion: {VERSION}\n", "\nVersion: 0.0.1\n"))
    said = doctor(site, LD_LIBRARY_PATH=str(DRIVER), TEKTITE_FAKE_DRIVER="cards=0")["cuda"]
    assert said["state"] == "FAILED" and f"tektite-cuda=={VERSION}" in said["cure"]


def test_without_it_and_without_a_flag_nothing_is_said(site):
    shutil.rmtree(next(site.glob("tektite_cuda-*.dist-info")))
    assert "card" not in doctor(site) and "assembler" not in doctor(site)
    flagged = doctor(site, TEKTITE_FLAGS="--device=gpu:3", LD_LIBRARY_PATH=str(DRIVER), TEKTITE_FAKE_DRIVER="cards=1")
    assert flagged["card"]["text"] == "no card: there is no gpu:3: the NVIDIA driver finds 1 card"
