"""Makes a wheel of the plugin out of what was built: `pip install` of it is all another environment needs.

    python3 make_wheel.py --output build/wheel --loader L.so --hook H.so --tf-version 2.21 --compiler C.so

The wheel holds the Python package, the compiler, the hook for one TensorFlow, and the loader where TensorFlow
looks for plugins. A wheel is a zip file with three descriptions (PEP 427); equal inputs make equal bytes.
"""

import argparse
import base64
import hashlib
import sysconfig
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can say


def version_of_package() -> str:
    for line in (HERE / "tektite/__init__.py").read_text().splitlines():
        if line.startswith("__version__"):
            return line.split('"')[1]
    raise SystemExit("make_wheel: tektite/__init__.py has no __version__")


def contents(args: argparse.Namespace) -> dict[str, bytes]:
    files = {f"tektite/{path.name}": path.read_bytes()
             for path in sorted((HERE / "tektite").iterdir()) if path.suffix in (".py", ".typed")}
    files["tektite/lib/libtektite.so"] = args.compiler.read_bytes()
    files[f"tektite/lib/libtektite_tf-{args.tf_version}.so"] = args.hook.read_bytes()
    if args.onednn:
        files["tektite/lib/libdnnl.so.3"] = args.onednn.read_bytes()
    if args.fast_calls:
        files[f"tektite/{args.fast_calls.name}"] = args.fast_calls.read_bytes()
    files["tensorflow-plugins/libtektite_loader.so"] = args.loader.read_bytes()
    return files


def metadata(version: str) -> str:
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    return (f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
            f"Summary: {project['description']}\nLicense: {project['license']}\nLicense-File: LICENSE\n"
            f"Requires-Python: {project['requires-python']}\n")


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    for name in ("loader", "hook", "compiler"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--onednn", type=Path, help="oneDNN's shared library, if the compiler uses it")
    parser.add_argument("--fast-calls", type=Path, help="the extension module; other versions of Python ignore it")
    parser.add_argument("--tf-version", required=True)
    args = parser.parse_args()

    version = version_of_package()
    tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = f"tektite-{version}.dist-info"
    files = contents(args)
    files[f"{info}/METADATA"] = metadata(version).encode()
    files[f"{info}/LICENSE"] = (HERE.parents[2] / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tektite\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = [record_line(name, data) for name, data in files.items()] + [f"{info}/RECORD,,"]
    files[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()

    args.output.mkdir(parents=True, exist_ok=True)
    path = args.output / f"tektite-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    main()
