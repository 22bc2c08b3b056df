"""Links libtektite.so and the command for any Linux, from the objects of the ordinary build.

    link_portable.py --build build/cmake --stubs build/wheel/stubs --abseil build/wheel/abseil --onednn build/onednn
            --output build/wheel/portable

The link is ninja's own, with these differences:

    shared libraries of this system (abseil, sodium, zstd, zlib, libstdc++)   ->  archives, so that they are inside
    the C library                                                            ->  stand-ins of an older one (make_stubs.py)
    packed relocations                                                       ->  none: older systems do not read them
    where the build keeps its libraries                                      ->  nowhere (no_build_paths.cc)
    the command, a program                                                   ->  a library, which Python opens

Beside them: oneDNN's library, which asks for libtkomp.so (one_thread_openmp.c) in the place of the system's libgomp.so.1, and
archives.txt, the names of all archives that code may come from.

Why not a program: what starts a program in today's C library leaves out its constructors under an older one.
Why one library may hold a C++ library of its own: nothing but C crosses its border.
"""
import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARY = "runtime_hooks/c_api/libtektite.so"
COMMAND = "runtime_hooks/standalone/CMakeFiles/tektite_command.dir"
ARCHIVED = {"libsodium.so": "sodium", "libz.so": "z", "libzstd.so": "zstd"}
LEFT_OUT = re.compile(r"-fuse-ld=mold|-Wl,-rpath.*|.*/libz3\.so")  # LLVM uses no z3 here
LLD = ["-B/usr/lib/llvm-22/bin", "-fuse-ld=lld"]  # the last -fuse-ld counts
# Of one length, so that one can stand in the other's place in a library's table of names.
OPENMP, OWN_OPENMP = b"\0libgomp.so.1\0", b"\0libtkomp.so\0\0"


def link_of(build: Path, target: str) -> list[str]:
    """The words of the command that makes `target`, from the compiler's name on."""
    commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", target], check=True, text=True,
                              capture_output=True).stdout.splitlines()
    link = next(line for line in reversed(commands) if f"-o {target}" in line)
    words = shlex.split(re.search(r"&& (.*?) &&", link)[1])
    return words[next(i for i, word in enumerate(words) if word.endswith(("c++", "g++"))):]


def archive_of(word: str) -> str | None:
    """`-l:libNAME.a` for a shared library that has to be inside; None for any other word."""
    name = Path(word).name
    base = name.split(".so")[0] + ".so"
    return f"-l:lib{ARCHIVED[base]}.a" if ".so" in name and base in ARCHIVED else None


def portable(words: list[str], abseil: Path) -> list[str]:
    result, has_abseil = [], False
    for word in words:
        if Path(word).name.startswith("libabsl_"):
            if not has_abseil:
                result += ["-Wl,--start-group", *map(str, sorted(abseil.rglob("libabsl_*.a"))), "-Wl,--end-group"]
            has_abseil = True
        elif not LEFT_OUT.fullmatch(word):
            result.append(archive_of(word) or word)
    return result


def compile_here(source: Path, output: Path) -> str:
    compiler = ["gcc"] if source.suffix == ".c" else ["g++", "-std=c++17"]
    subprocess.run([*compiler, "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-c", str(source), "-o",
                    str(output)], check=True)
    return str(output)


def run(command: list[str], folder: Path) -> None:
    if done := subprocess.run(command, cwd=folder).returncode:
        sys.exit(done)


def link_library(args: argparse.Namespace, output: Path, common: list[str]) -> None:
    words = portable(link_of(args.build, LIBRARY), args.abseil.resolve())
    no_paths = compile_here(HERE / "no_build_paths.cc", output / "no_build_paths.o")
    place = words.index("-o")
    words[place:place + 2] = ["-o", str(output / "libtektite.so"), no_paths]
    run(words + LLD + common, args.build)
    archives = {Path(word).name.removeprefix("-l:") for word in words if word.endswith(".a")} | {"libstdc++.a", "libgcc.a"}
    (output / "archives.txt").write_text("\n".join(sorted(archives)) + "\n")


def objects_of_command(build: Path) -> list[str]:
    """Those that ninja makes now: older ones may lie beside them."""
    commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "tektite_command"], check=True, text=True,
                              capture_output=True).stdout
    return sorted(set(re.findall(rf"-o ({re.escape(COMMAND)}/\S+\.o) -c ", commands)))


def link_command(args: argparse.Namespace, output: Path, common: list[str]) -> None:
    objects = objects_of_command(args.build)
    run(["g++", "-shared", "-O2", *LLD, "-Wl,--build-id=sha1", "-Wl,--exclude-libs,ALL",
         "-Wl,-Bsymbolic", "-Wl,-soname,libtektite_command.so", "-o", str(output / "libtektite_command.so"), *objects,
         str(output / "libtektite.so"), *common], args.build)


def place_onednn(onednn: Path, output: Path) -> None:
    source = onednn / "lib/libdnnl.so.3"
    if not source.exists():
        return
    data = source.read_bytes()
    if data.count(OPENMP) != 1:
        sys.exit(f"link_portable: {source} names libgomp.so.1 {data.count(OPENMP)} times, not once")
    (output / source.name).write_bytes(data.replace(OPENMP, OWN_OPENMP))
    (output / source.name).chmod(0o755)
    run(["strip", "--strip-unneeded", str(output / source.name)], output)
    code = compile_here(HERE / "one_thread_openmp.c", output / "one_thread_openmp.o")
    run(["gcc", "-shared", "-nostdlib", "-Wl,-s", "-Wl,-soname,libtkomp.so",
         f"-Wl,--version-script={HERE / 'one_thread_openmp.map'}", "-o", str(output / "libtkomp.so"), code], output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("build", "stubs", "abseil", "onednn", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    output = args.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    libc = compile_here(HERE / "older_libc.c", output / "older_libc.o")
    archive = output / "libolder_libc.a"
    archive.unlink(missing_ok=True)
    run(["ar", "rcsD", str(archive), libc], output)
    common = ["-static-libstdc++", f"-L{args.stubs.resolve()}", str(archive), "-Wl,-s", "-Wl,--gc-sections"]
    link_library(args, output, common)
    link_command(args, output, common)
    place_onednn(args.onednn, output)


if __name__ == "__main__":
    main()
