"""Makes stand-ins of an older C library to link against: names and versions of symbols, without code.

    make_stubs.py --ziglang build/wheel/ziglang --glibc 2.27 --output build/wheel/stubs

Why: an object file names symbols without versions. What version of the C library a shared library needs is decided by
the library that it was linked against. PyPI's package ziglang knows every version's names, and makes these stand-ins for
its own compiler, which is not used here.
Limits: x86-64. What the older library lacks comes from older_libc.c.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARIES = ("libc.so.6", "libdl.so.2", "libld.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1")
# As the system's libc.so is one: -lc finds what today's single library holds.
SCRIPT = "GROUP ( {0}/libc.so.6 AS_NEEDED ( {0}/libdl.so.2 {0}/libld.so.2 {0}/libpthread.so.0 {0}/librt.so.1 ) )\n"


def make(ziglang: Path, glibc: str, output: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "empty.c").write_text("int empty;\n")
        environment = {**os.environ, "PYTHONPATH": str(ziglang), "ZIG_GLOBAL_CACHE_DIR": str(scratch / "cache"),
                       "ZIG_LOCAL_CACHE_DIR": str(scratch / "cache")}
        subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", f"x86_64-linux-gnu.{glibc}", "-O2", "-shared",
                        "-fPIC", "empty.c", "-o", "empty.so"], cwd=scratch, env=environment, check=True)
        found = next(scratch.glob("cache/o/*/libc.so.6")).parent
        output.mkdir(parents=True, exist_ok=True)
        for library in LIBRARIES:
            shutil.copy(found / library, output / library)
    for library in LIBRARIES:
        link = output / (library.split(".so")[0] + ".so")
        link.unlink(missing_ok=True)
        if library == "libc.so.6":
            link.write_text(SCRIPT.format(output.resolve()))
        else:
            link.symlink_to(library)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ziglang", type=Path, required=True, help="where pip has put that package")
    parser.add_argument("--glibc", required=True)
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args()
    make(args.ziglang.resolve(), args.glibc, args.output)


if __name__ == "__main__":
    main()
