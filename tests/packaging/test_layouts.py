"""Environments that are laid out in other ways than a virtual one."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

# As Debian's and Ubuntu's Python of TensorFlow's images: packages in dist-packages, which `site` names.
SITE = """
import site, sys
site.getsitepackages = lambda prefixes=None: [{folder!r}]
sys.path.append({folder!r})
"""
PROGRAM = """
import tensorflow as tf
import tektite
f = tf.function(lambda x: tf.nn.softmax(tf.exp(x) * 0.5 + 1.0) * 2.0)
x = tf.reshape(tf.range(4096.0) / 4096.0, [64, 64])
f(x)
tektite.wait_until_compiled()
f(x)
print(tektite.__file__, tektite.is_active(), tektite.stats()["clusters"])
"""


def test_dist_packages_of_an_image(tmp_path):
    """TensorFlow's plugins are looked for where `site` says, which is no folder named site-packages there."""
    folder = tmp_path / "python3/dist-packages"
    folder.mkdir(parents=True)
    venv = Path(next(path for path in sys.path if path.endswith("site-packages")))
    for path in venv.iterdir():
        if path.name in ("tektite", "tensorflow-plugins"):
            shutil.copytree(path, folder / path.name)
        elif not path.name.startswith(("__", "distutils-")) and path.suffix != ".pth":
            (folder / path.name).symlink_to(path)
    (tmp_path / "custom").mkdir()
    (tmp_path / "custom/sitecustomize.py").write_text(SITE.format(folder=str(folder)))
    done = subprocess.run([Path(sys.executable).resolve(), "-c", PROGRAM], text=True, capture_output=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "custom"), "TEKTITE": "1", "TF_CPP_MIN_LOG_LEVEL": "3",
                               "TEKTITE_FLAGS": "--compile=sync --min_cluster_cost=0"})
    assert done.stdout.split()[:2] == [str(folder / "tektite/__init__.py"), "True"] and int(done.stdout.split()[2]) >= 1, done.stderr
