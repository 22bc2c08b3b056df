"""Makes a wheel out of a folder of built libraries; equal inputs make equal bytes.

    python3 packaging/make_wheel.py --parts build/wheel/parts --licences build/wheel/licences
            --tag manylinux_2_27_x86_64 --output build/wheel

`parts` holds what stands in tektite/lib of the wheel, and the loader, which goes where TensorFlow looks for plugins:

    libtektite.so, libtektite_command.so, libdnnl.so.3, libtkomp.so     for every TensorFlow
    libtektite_tf-2.21.so                                               for one version each
    fast_calls-2.21.cpython-311-x86_64-linux-gnu.so                     for one version and one Python each
    libtektite_loader.so

A wheel is a zip file with three descriptions (PEP 427). Times in it are SOURCE_DATE_EPOCH, or the earliest that a zip
file can say.
"""
import argparse
import base64
import hashlib
import os
import re
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ROOT / "runtime_hooks/tensorflow/python"
LOADER = "libtektite_loader.so"
EARLIEST = 315532800  # 1980-01-01
COMMANDS = "[console_scripts]\ntektite = tektite.__main__:main\n"


def version_of_package() -> str:
    return re.search(r'^__version__ = "(.*)"', (PYTHON / "tektite/__init__.py").read_text(), re.M)[1]


def contents(parts: Path) -> dict[str, bytes]:
    files = {f"tektite/{path.name}": path.read_bytes()
             for path in sorted((PYTHON / "tektite").iterdir()) if path.suffix in (".py", ".typed", ".cmake")}
    for path in sorted(parts.iterdir()):
        folder = "tensorflow-plugins" if path.name == LOADER else "tektite/lib"
        files[f"{folder}/{path.name}"] = path.read_bytes()
    return files


def metadata(version: str, licences: list[str]) -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"License-Expression: {project['license']}",
             *(f"License-File: {name}" for name in licences), f"Requires-Python: {project['requires-python']}",
             "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text()


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def write(path: Path, files: dict[str, bytes]) -> None:
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data, compresslevel=9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("parts", "licences", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--tag", required=True, help="the platform, such as manylinux_2_27_x86_64")
    args = parser.parse_args()

    version = version_of_package()
    info = f"tektite-{version}.dist-info"
    licences = {path.relative_to(args.licences).as_posix(): path.read_bytes()
                for path in sorted(args.licences.rglob("*")) if path.is_file()}
    files = contents(args.parts)
    files[f"{info}/METADATA"] = metadata(version, list(licences)).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: tektite ({version})\nRoot-Is-Purelib: false\n"
                              f"Tag: py3-none-{args.tag}\n").encode()
    files[f"{info}/entry_points.txt"] = COMMANDS.encode()
    files |= {f"{info}/licenses/{name}": data for name, data in licences.items()}
    record = [record_line(name, data) for name, data in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()

    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / f"tektite-{version}-py3-none-{args.tag}.whl"
    write(path, files)
    print(path)


if __name__ == "__main__":
    main()
