"""Cases of factorizations and solvers; import_oracle.py runs them.

What is not unique (signs of vectors) is put together again before it is compared."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(12)
TYPES = ((np.float32, 2e-5), (np.float64, 1e-13))


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.normal(0, 1, shape).astype(dtype)


def positive(*shape: int, dtype: type = np.float32) -> np.ndarray:
    x = RNG.normal(0, 1, shape)
    return (x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def solver_cases():
    for dtype, rel in TYPES:
        for shape in ((1, 1), (5, 5), (3, 17, 17), (2, 2, 40, 40), (0, 4, 4)):
            name = f"{np.dtype(dtype).name}{shape}"
            a, b = positive(*shape, dtype=dtype), normal(*shape[:-1], 3, dtype=dtype)
            yield Case(f"Cholesky{name}", lambda a: tf.linalg.cholesky(a), [a], rel=rel)
            yield Case(f"MatrixInverse{name}", lambda a: tf.linalg.inv(a), [a], rel=rel)
            for adjoint in (False, True):

                def solve(a, b, adjoint=adjoint):
                    return tf.linalg.solve(a, b, adjoint=adjoint)

                yield Case(f"MatrixSolve{name}{adjoint}", solve, [a + np.triu(a), b], rel=rel)
                for lower in (False, True):

                    def triangular(a, b, adjoint=adjoint, lower=lower):
                        return tf.linalg.triangular_solve(a, b, lower=lower, adjoint=adjoint)

                    yield Case(f"MatrixTriangularSolve{name}{adjoint}{lower}", triangular, [a, b], rel=rel)
    a = positive(4, 4)
    yield Case("MatrixInverseAdjoint", lambda a: tf.linalg.inv(a, adjoint=True), [a + np.triu(a)], rel=2e-5)
    yield Case(
        "MatrixTriangularSolveBroadcast", lambda a, b: tf.linalg.triangular_solve(a, b), [a, normal(3, 4, 2)], rel=2e-5
    )
    spoilt = a.copy()
    spoilt[2, 1] = np.nan
    yield Case("CholeskyOfNaN", lambda a: tf.linalg.cholesky(a), [spoilt], rel=2e-5)
    # Only the lower triangle is read.
    yield Case("CholeskyOfLowerTriangle", lambda a: tf.linalg.cholesky(a), [np.tril(a)], rel=2e-5)
    # NaN, and what stands above the diagonal is not defined.
    indefinite = np.stack([a, -a, a * np.array([1, 1, -1, 1], np.float32)])
    yield Case("CholeskyIndefinite", lambda a: tf.linalg.band_part(tf.linalg.cholesky(a), -1, 0), [indefinite], rel=2e-5)
    # Errors that depend on values.
    yield Case("MatrixSolveSingular", lambda a, b: tf.linalg.solve(a, b), [np.ones((3, 3)), normal(3, 1, dtype=float)], fails=True)
    yield Case("MatrixInverseSingular", lambda a: tf.linalg.inv(a), [np.zeros((3, 3))], fails=True)
    none = np.full((3, 3), np.nan)  # had NaN for a result
    yield Case("MatrixInverseNaN", lambda a: tf.linalg.inv(a), [none], fails=True)
    yield Case("MatrixSolveNaN", lambda a: tf.linalg.solve(a, a), [none], fails=True)
    yield Case("MatrixTriangularSolveNaN", lambda a: tf.linalg.triangular_solve(a, a), [none])  # is NaN


def tridiagonal_cases():
    for dtype, rel in TYPES:
        for n in (1, 2, 3, 9):
            d, b = normal(2, 3, n, dtype=dtype), normal(2, n, 4, dtype=dtype)
            d[:, 1] += np.where(d[:, 1] >= 0, 3, -3).astype(dtype)
            for pivots in (False, True):

                def solve(d, b, pivots=pivots):
                    return tf.linalg.tridiagonal_solve(d, b, partial_pivoting=pivots)

                yield Case(f"TridiagonalSolve{np.dtype(dtype).name}{n}{pivots}", solve, [d, b], rel=rel)
            yield Case(
                f"TridiagonalMatMul{np.dtype(dtype).name}{n}",
                lambda d, b: tf.linalg.tridiagonal_matmul(d, b),
                [d, b],
                rel=rel,
            )
    # Rows must change places.
    d = np.array([[1, 2, 3, 0], [1e-9, 0, 1, 2], [0, 1, 2, 3]], np.float64)
    yield Case("TridiagonalSolvePivots", lambda d, b: tf.linalg.tridiagonal_solve(d, b), [d, normal(4, 2, dtype=float)], rel=1e-12)
    yield Case(
        "TridiagonalSolvePerturbed",
        lambda d, b: tf.linalg.tridiagonal_solve(d, b, perturb_singular=True),
        [d, normal(4, 2, dtype=float)],
        refused="perturb_singular",
    )


def factorization_cases():
    for dtype, rel in TYPES:
        for shape in ((1, 1), (4, 4), (2, 7, 4), (2, 4, 7), (3, 20, 20)):
            name, a = f"{np.dtype(dtype).name}{shape}", normal(*shape, dtype=dtype)
            for full in (False, True):
                yield Case(f"Qr{name}{full}", lambda a, full=full: tf.linalg.qr(a, full_matrices=full), [a], rel=rel)

                def svd(a, full=full):
                    s, u, v = tf.linalg.svd(a, full_matrices=full)
                    p = s.shape[-1]
                    product = tf.matmul(u[..., :p] * s[..., None, :], v[..., :p], transpose_b=True)
                    return s, product, tf.matmul(u, u, transpose_a=True), tf.matmul(v, v, transpose_a=True)

                yield Case(f"Svd{name}{full}", svd, [a], rel=rel)
            yield Case(f"SvdValues{name}", lambda a: tf.linalg.svd(a, compute_uv=False), [a], rel=rel)
            if shape[-1] != shape[-2]:
                continue
            symmetric = (a + np.swapaxes(a, -1, -2)).astype(dtype)

            def eigh(a):
                e, v = tf.linalg.eigh(a)
                return e, tf.matmul(v * e[..., None, :], v, transpose_b=True), tf.matmul(v, v, transpose_a=True)

            yield Case(f"SelfAdjointEig{name}", eigh, [symmetric], rel=rel)
            yield Case(f"SelfAdjointEigValues{name}", lambda a: tf.linalg.eigvalsh(a), [symmetric], rel=rel)
    yield Case("QrOfHalf", lambda a: raw.Qr(input=a), [normal(3, 3, dtype=np.float16)], refused="not defined for f16")


CASES = [*solver_cases(), *tridiagonal_cases(), *factorization_cases()]
