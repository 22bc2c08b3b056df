"""The source archive and what stands around a release: what is inside, that pip says what a build lacks, notes, uninstalling."""
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
sys.path.insert(0, str(PACKAGING))

import check_wheel  # noqa: E402
import make_sdist  # noqa: E402
import release_notes  # noqa: E402

VERSION = make_sdist.version_of_package()
TOP = f"tektite-{VERSION}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    return make_sdist.write(tmp_path_factory.mktemp("sdist"))


def unpack(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    return folder / TOP


def test_the_archive_holds_the_tree_and_a_description(archive):
    with tarfile.open(archive) as tar:
        members = {member.name.removeprefix(f"{TOP}/"): member for member in tar.getmembers()}
        description = tar.extractfile(f"{TOP}/PKG-INFO").read().decode()
    assert all(member.name.startswith(f"{TOP}/") and member.isfile() for member in members.values())
    for wanted in ("CMakeLists.txt", "LICENSE", "pyproject.toml", "packaging/build_backend.py", "jit/ir/graph.cc",
                   "runtime_hooks/tensorflow/python/tektite/__init__.py", "tests/packaging/test_source.py"):
        assert wanted in members
    assert not [name for name in members if name.startswith(("build/", ".git/"))]
    assert members["scripts/setup"].mode == 0o755 and members["LICENSE"].mode == 0o644
    assert f"\nName: tektite\nVersion: {VERSION}\n" in description and "License-Expression: Apache-2.0" in description


def test_equal_sources_make_equal_bytes_from_a_checkout_and_from_an_archive(archive, tmp_path):
    folder = unpack(archive, tmp_path)
    (folder / "build").mkdir()
    (folder / "build/left").touch()
    again = subprocess.run([sys.executable, "packaging/make_sdist.py", "--output", "build"], cwd=folder, text=True,
                           capture_output=True, check=True)
    assert (folder / again.stdout.strip()).read_bytes() == archive.read_bytes()


def test_pip_says_in_one_line_what_a_build_from_source_lacks(archive, tmp_path):
    """On a system without Debian's packages; nothing is downloaded, and nothing is built."""
    (tmp_path / "dpkg-query").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "dpkg-query").chmod(0o755)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target", tmp_path / "site", archive],
                          text=True, capture_output=True, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "apt-get install" in line]
    assert done.returncode != 0 and len(said) == 1, done.stderr
    assert "g++" in said[0] and "llvm-22-dev" in said[0] and "Traceback" not in done.stdout + done.stderr


def test_no_other_file_says_the_version():
    """CMake, the wheels, the archive and the command take it from the Python package."""
    named = subprocess.run(["git", "grep", "-lF", f'"{VERSION}"', "--", ":!tests"], cwd=ROOT, text=True, capture_output=True).stdout.split()
    assert set(named) <= {"runtime_hooks/tensorflow/python/tektite/__init__.py", "runtime_hooks/c_api/tektite.h"}


CHANGELOG = """# Changelog

## [Unreleased]
{left}
## [0.2.0] - 2027-01-02

### Added

- A thing.

## [0.1.0]

- The first.
"""


def test_notes_are_the_section_of_a_version():
    text = CHANGELOG.format(left="")
    assert release_notes.notes(text, "0.2.0") == "# Tektite 0.2.0 (2027-01-02)\n\n### Added\n\n- A thing.\n"
    for version, left, said in (("0.3.0", "", "says nothing of 0.3.0"), ("0.1.0", "", "no date for 0.1.0"),
                                ("0.2.0", "\n- Too late.\n", "under Unreleased: - Too late.")):
        with pytest.raises(ValueError, match=said):
            release_notes.notes(CHANGELOG.format(left=left), version)


def test_the_changelog_has_a_section_for_this_version():
    assert VERSION in release_notes.sections((ROOT / "CHANGELOG.md").read_text())


def test_a_release_is_made_checked_and_signed(tmp_path):
    """With a wheel of libraries that stand in for the real ones, and a stand-in for minisign."""
    tree = unpack(make_sdist.write(tmp_path), tmp_path)
    (tree / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2027-01-02\n\n- The first.\n")
    wheel = tree / f"build/wheel/{TOP}-py3-none-manylinux_2_27_x86_64.whl"
    wheel.parent.mkdir(parents=True)
    info = f"{TOP}.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\n")
        file.writestr(f"{info}/RECORD", "")
        for licence in check_wheel.LICENCES:
            file.writestr(f"{info}/licenses/{licence}", "")
    (tmp_path / "key").touch()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/minisign").write_text('#!/bin/sh\necho "$@" > SHA256SUMS.minisig\n')
    (tmp_path / "bin/minisign").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "PYTHON": sys.executable}
    done = subprocess.run(["scripts/release", "--no-wheel", "--any-tree", "--key", tmp_path / "key"], cwd=tree, text=True,
                          capture_output=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    made = tree / "build/release" / VERSION
    assert sorted(path.name for path in made.iterdir()) == sorted([
        "NOTES.md", "SHA256SUMS", "SHA256SUMS.minisig", f"{TOP}.tar.gz", wheel.name, f"tektite_cuda-{VERSION}-py3-none-any.whl"])
    assert subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=made).returncode == 0
    assert (made / "NOTES.md").read_text() == f"# Tektite {VERSION} (2027-01-02)\n\n- The first.\n"
    assert (made / "SHA256SUMS.minisig").read_text().split()[:3] == ["-S", "-s", str(tmp_path / "key")]
    refused = subprocess.run(["scripts/release", "--no-wheel", "--any-tree", "--key", tmp_path / "nothing"], cwd=tree, text=True,
                             capture_output=True, env=environment)
    assert refused.returncode == 1 and "minisign -G" in refused.stderr
