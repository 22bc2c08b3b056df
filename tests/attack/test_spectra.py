"""Fourier transforms and solvers against double precision: no more than twice stock TensorFlow's error at any length."""

from __future__ import annotations

# An error is relative to the largest right result, the largest of several draws.  One unit of rounding is what
# the format itself costs, so nothing is expected to be better.
UNIT = 2.0**-23

PROGRAM = """
errors = {}
def note(name, got, want):
    got, want = np.asarray(got), np.asarray(want)
    error = float(np.max(np.abs(got - want)) / np.max(np.abs(want)))
    errors[name] = max(errors.get(name, 0.0), error)

def complex_noise(*shape):
    return (normal(*shape) + 1j * normal(*shape)).astype(np.complex64)

@tf.function(jit_compile=False)
def spectra(x, z):
    n = x.shape[-1]
    return dict(fft=tf.signal.fft(z), ifft=tf.signal.ifft(z), rfft=tf.signal.rfft(x),
                irfft=tf.signal.irfft(z[:, :n // 2 + 1], [n]), magnitude=tf.abs(tf.signal.fft(z)))

for n in (8, 30, 97, 480, 512, 1000, 1009, 4096, 16000, 30011):
    for rows in (1, 9):
        for _ in range(3):
            x, z = normal(rows, n), complex_noise(rows, n)
            got = spectra(tf.constant(x), tf.constant(z))
            whole = np.fft.fft(z.astype(np.complex128))
            right = dict(fft=whole, ifft=np.fft.ifft(z.astype(np.complex128)), rfft=np.fft.rfft(x.astype(np.float64)),
                         irfft=np.fft.irfft(z[:, :n // 2 + 1].astype(np.complex128), n), magnitude=np.abs(whole))
            for name, want in right.items():
                note(f"{name}/{rows}x{n}", got[name], want)

@tf.function(jit_compile=False)
def solutions(a, b):
    l = tf.linalg.cholesky(a)
    return dict(cholesky=l, triangular=tf.linalg.triangular_solve(l, b), solve=tf.linalg.solve(a, b),
                inverse=tf.linalg.inv(a), eigenvalues=tf.linalg.eigvalsh(a), singular=tf.linalg.svd(a, compute_uv=False))

for n in (3, 20, 150):
    for _ in range(3):
        root = normal(n, n)
        a, b = root @ root.T + n * np.eye(n, dtype=np.float32), normal(n, 4)
        got, wide = solutions(tf.constant(a), tf.constant(b)), a.astype(np.float64)
        l = np.linalg.cholesky(wide)
        right = dict(cholesky=l, triangular=np.linalg.solve(l, b), solve=np.linalg.solve(wide, b),
                     inverse=np.linalg.inv(wide), eigenvalues=np.linalg.eigvalsh(wide),
                     singular=np.linalg.svd(wide, compute_uv=False))
        for name, want in right.items():
            note(f"{name}/{n}", got[name], want)
report(errors=errors)
"""


def test_errors(run_pair):
    plain, compiled = run_pair(PROGRAM)
    assert compiled.host["runs"] > 0 and not compiled.host["fallbacks"], compiled.host
    theirs = plain.values["errors"]
    worse = {name: f"{error:.2e} where TensorFlow has {theirs[name]:.2e}"
             for name, error in compiled.values["errors"].items() if error > 2 * max(theirs[name], UNIT)}
    assert not worse, worse
