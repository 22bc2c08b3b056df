"""Makes the source archive, tektite-VERSION.tar.gz; equal sources make equal bytes.

    python3 packaging/make_sdist.py --output build/wheel

It holds what git has of this tree, as it lies here, and PKG-INFO. In a tree that came out of such an archive: all but build.
Times in it are SOURCE_DATE_EPOCH, or the earliest that a zip file can say, as in the wheel.
"""
import argparse
import gzip
import io
import os
import subprocess
import tarfile
from pathlib import Path

from make_wheel import EARLIEST, ROOT, metadata, version_of_package


def files_of_tree() -> list[str]:
    """Relative to the root, sorted."""
    if (ROOT / ".git").exists():
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, text=True, capture_output=True,
                               check=True).stdout.split("\0")
        return sorted(name for name in names if name and (ROOT / name).is_file())
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in paths
                  if path.parts[0] != "build" and "__pycache__" not in path.parts and path.name != "PKG-INFO")


def write(folder: Path) -> Path:
    version = version_of_package()
    name = f"tektite-{version}"
    when = max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST)
    contents = [(path, (ROOT / path).read_bytes(), os.access(ROOT / path, os.X_OK)) for path in files_of_tree()]
    contents.append(("PKG-INFO", metadata(version, ["LICENSE"]).encode(), False))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data, is_program in sorted(contents):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size, entry.mtime, entry.mode = len(data), when, 0o755 if is_program else 0o644
            archive.addfile(entry, io.BytesIO(data))
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / f"{name}.tar.gz"
    output.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    print(write(parser.parse_args().output))


if __name__ == "__main__":
    main()
