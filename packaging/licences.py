"""Gathers the licences of all that is inside the wheel, and fails where it knows none.

    licences.py --output build/wheel/licences --abseil build/wheel/abseil-source --onednn build/onednn
            --tensorflow build/wheel/tensorflow-2.21 ARCHIVE...

ARCHIVE: what the libraries were linked from. Each has to be of a project listed here, or of this one. Debian's packages
hold the licences of what they install.
"""
import argparse
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEBIAN = Path("/usr/share/doc")
# Projects, the archives that are theirs, and the package with the licence. Without archives: headers alone.
PROJECTS = (
    ("cli11", "", "libcli11-dev"),
    ("eigen", "", "libeigen3-dev"),
    ("gcc", r"lib(stdc\+\+|gcc|gcc_eh|supc\+\+)\.a", "libstdc++-12-dev"),
    ("llvm", r"libLLVM\w+\.a", "llvm-22-dev"),
    ("protozero", "", "libprotozero-dev"),
    ("sodium", r"libsodium\.a", "libsodium-dev"),
    ("xxhash", "", "libxxhash-dev"),
    ("zlib", r"libz\.a", "zlib1g-dev"),
    ("zstd", r"libzstd\.a", "libzstd-dev"),
)
OWN = r"libtektite_\w+\.a|libolder_libc\.a|libabsl_\w+\.a"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("output", "abseil", "onednn", "tensorflow"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("archives", nargs="*")
    args = parser.parse_args()
    patterns = [re.compile(OWN)] + [re.compile(pattern) for _, pattern, _ in PROJECTS if pattern]
    unknown = [path for path in args.archives if not any(p.fullmatch(Path(path).name) for p in patterns)]
    if unknown:
        sys.exit(f"licences: no licence is known for {', '.join(unknown)}: add a row to packaging/licences.py")
    shutil.rmtree(args.output, ignore_errors=True)
    args.output.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", args.output / "LICENSE")
    inside = args.output / "inside"
    inside.mkdir()
    sources = {name: DEBIAN / package / "copyright" for name, _, package in PROJECTS}
    sources["abseil"] = args.abseil / "LICENSE"
    sources["tensorflow"] = args.tensorflow / "tensorflow/include/LICENSE"  # headers, in hooks
    if (args.onednn / "lib/libdnnl.so.3").exists():
        sources["onednn"] = next(args.onednn.glob("lib/python3*/site-packages/onednn_cpu_gomp-*.dist-info/LICENSE.txt"))
    for name, source in sources.items():
        if not source.exists():
            sys.exit(f"licences: {name}'s is not at {source}")
        shutil.copy(source, inside / f"{name}.txt")


if __name__ == "__main__":
    main()
