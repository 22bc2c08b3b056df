"""Checks a wheel: what each library asks of a system, size, licences, paths of the machine that built it, bytes.

    check_wheel.py build/wheel/tektite-*.whl build/wheel/tektite_cuda-*.whl

The limits are those of the name: glibc 2.27 and the C++ library of its day, which TensorFlow itself asks for. Needs readelf.
auditwheel, where it is installed for this Python, checks the name as well (scripts/wheel installs it).
"""
import argparse
import base64
import csv
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 36 * 10**6
NEWEST = {"GLIBC": (2, 27), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0), "GOMP": (1, 0), "OMP": (1, 0)}
OF_EVERY_SYSTEM = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0",
                   "librt.so.1", "libstdc++.so.6"}
OF_TENSORFLOW = {"lib_pywrap_tensorflow_common.so", "_pywrap_tensorflow_internal.so", "libtensorflow_cc.so.2",
                 "libtensorflow_framework.so.2"}
OF_THE_WHEEL = {"libtektite.so", "libtektite_tf.so", "libtkomp.so"}
# What may ask for libraries of TensorFlow's.
HOOK = re.compile(r"libtektite_tf-|fast_calls-")
WITH_OWN_CXX = re.compile(r"libtektite(_command)?\.so$")
LICENCES = ("LICENSE", "inside/abseil.txt", "inside/gcc.txt", "inside/llvm.txt", "inside/sodium.txt", "inside/tensorflow.txt",
            "inside/zlib.txt", "inside/zstd.txt")


def readelf(path: Path, option: str) -> str:
    return subprocess.run(["readelf", "-W", option, path], check=True, text=True, capture_output=True).stdout


def needed_by(path: Path) -> set[str]:
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf(path, "-d")))


def versions_in(path: Path) -> set[tuple[str, str]]:
    needs = readelf(path, "-V").partition("Version needs section")[2]
    return set(re.findall(r"Name: ([A-Z]+)_([\d.]+)\b", needs)) | {
        ("private", name) for name in re.findall(r"Name: (GLIBC_(?:PRIVATE|ABI_\w+))", needs)}


def check_library(name: str, path: Path) -> list[str]:
    errors = []
    allowed = OF_EVERY_SYSTEM | OF_THE_WHEEL | (OF_TENSORFLOW if HOOK.search(name) else set())
    if WITH_OWN_CXX.search(name):
        allowed -= {"libstdc++.so.6"}
    for library in sorted(needed_by(path) - allowed):
        errors.append(f"{name}: needs {library}")
    for family, number in sorted(versions_in(path)):
        if family == "private" or tuple(map(int, number.split("."))) > NEWEST.get(family, (0,)):
            errors.append(f"{name}: asks for {number if family == 'private' else f'{family}_{number}'}")
    dynamic = readelf(path, "-d")
    if "RPATH" in dynamic or "RUNPATH" in dynamic:
        errors.append(f"{name}: has a search path of its own")
    if ".symtab" in readelf(path, "-S"):
        errors.append(f"{name}: is not stripped")
    return errors


def check_paths(name: str, data: bytes) -> list[str]:
    folders = {Path(__file__).resolve().parents[1], Path.cwd(), Path.home()}
    return [f"{name}: holds the path {folder}" for folder in sorted(folders)
            if len(folder.parts) > 2 and os.fsencode(folder) + b"/" in data]


def check_record(wheel: zipfile.ZipFile, info: str) -> list[str]:
    errors = []
    for name, digest, size in csv.reader(wheel.read(f"{info}/RECORD").decode().splitlines()):
        if not digest:
            continue
        data = wheel.read(name)
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if digest != f"sha256={found}" or int(size) != len(data):
            errors.append(f"{name}: is not what RECORD says")
    return errors


def check_auditwheel(path: Path) -> list[str]:
    if importlib.util.find_spec("auditwheel") is None:
        return []
    tag = re.search(r"manylinux_\d+_\d+_x86_64", path.name)[0]
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", tag]
    for library in sorted(OF_TENSORFLOW | OF_THE_WHEEL):
        command += ["--exclude", library]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, "--wheel-dir", folder, path], text=True, capture_output=True)
        if done.returncode != 0:
            return [f"auditwheel: {done.stderr.strip()}"]
        made = next(Path(folder).glob("*.whl"))
        with zipfile.ZipFile(made) as wheel:
            return [f"auditwheel: would add {name}" for name in wheel.namelist() if "tektite.libs/" in name]


def check_cuda(path: Path) -> list[str]:
    """The second wheel: a description alone, since what it is for may be handed out by NVIDIA only."""
    with zipfile.ZipFile(path) as wheel:
        version = path.name.split("-")[1]
        info = f"tektite_cuda-{version}.dist-info"
        errors = check_record(wheel, info)
        for name in wheel.namelist():
            errors += check_paths(name, wheel.read(name))
            if not name.startswith(f"{info}/"):
                errors.append(f"{name}: is no part of a description")
        if f"{info}/licenses/LICENSE" not in wheel.namelist():
            errors.append("no licenses/LICENSE")
        if f"\nRequires-Dist: tektite=={version}\n" not in wheel.read(f"{info}/METADATA").decode():
            errors.append(f"does not require tektite=={version}")
    return errors


def check(path: Path) -> list[str]:
    if path.name.startswith("tektite_cuda-"):
        return check_cuda(path)
    errors = []
    if path.stat().st_size > MOST_BYTES:
        errors.append(f"{path.stat().st_size / 1e6:.1f} MB, over {MOST_BYTES / 1e6:.0f}")
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        names = wheel.namelist()
        info = next(name for name in names if name.endswith(".dist-info/WHEEL")).partition("/")[0]
        errors += check_record(wheel, info)
        for licence in LICENCES:
            if f"{info}/licenses/{licence}" not in names:
                errors.append(f"no licenses/{licence}")
        if any(name.endswith("libdnnl.so.3") for name in names) and f"{info}/licenses/inside/onednn.txt" not in names:
            errors.append("no licenses/inside/onednn.txt")
        for name in names:
            data = wheel.read(name)
            errors += check_paths(name, data)
            if data.startswith(b"\x7fELF"):
                errors += check_library(name, Path(wheel.extract(name, folder)))
    return errors + check_auditwheel(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, nargs="+")
    failed = False
    for path in parser.parse_args().wheels:
        errors = check(path)
        failed = failed or bool(errors)
        for error in errors:
            print(f"check_wheel: {error}", file=sys.stderr)
        if not errors:
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
