"""tf.math, tf.linalg, tf.signal, sparse and ragged tensors."""
import numpy as np

from bench.models.workload import integers, noise
from bench.zoo.case import Case, function_case


def einsums(tf, x, y):
    return (tf.einsum("bij,bjk->bik", x, y), tf.einsum("bij,bij->b", x, y), tf.einsum("bij->bji", x),
            tf.einsum("bij,ckj->bcik", x, y), tf.einsum("bii->bi", x), tf.einsum("...ij,...jk->...ik", x, y),
            tf.einsum("bij,bjk,bkl->il", x, y, x))


def segments(tf, x):
    ids = tf.range(tf.shape(x)[0]) // 3
    scattered = tf.math.floormod(tf.range(tf.shape(x)[0]) * 7, 5)
    return (tf.math.segment_sum(x, ids), tf.math.segment_mean(x, ids), tf.math.segment_max(x, ids),
            tf.math.unsorted_segment_sum(x, scattered, 5), tf.math.unsorted_segment_max(x, scattered, 6),
            tf.math.unsorted_segment_mean(x, scattered, 5), tf.cumsum(x, 1, exclusive=True, reverse=True),
            tf.math.cumulative_logsumexp(x, 1), tf.math.cumprod(x[:, :4], 1))


def special(tf, x, p):
    return (tf.math.lgamma(p), tf.math.digamma(p), tf.math.igamma(p, p + 1), tf.math.betainc(p, p + 1, tf.sigmoid(x)),
            tf.math.zeta(p + 1, p), tf.math.erfinv(tf.tanh(x) * 0.9), tf.math.bessel_i0e(x), tf.math.bessel_i1e(x),
            tf.math.polygamma(1.0, p), tf.math.ndtri(tf.sigmoid(x)), tf.math.erfcinv(p * 0.1 + 0.1), tf.math.sinh(x),
            tf.math.nextafter(x, p), tf.math.bessel_i0(x))


def decomposed(tf, x):
    a = tf.matmul(x, x, transpose_b=True) + 5 * tf.eye(x.shape[-1])
    root = tf.linalg.cholesky(a)
    return (root, tf.linalg.solve(a, x), tf.linalg.triangular_solve(root, x), tf.linalg.inv(a), tf.linalg.det(a / 20),
            tf.linalg.logdet(a), tf.linalg.trace(a), tf.linalg.band_part(a, 1, 0), tf.linalg.adjoint(x),
            tf.linalg.norm(x, axis=[-2, -1]), tf.linalg.expm(x * 0.01), tf.linalg.cross(x[..., :3], x[..., 3:6]))


def transforms(tf, x):
    spectrum = tf.signal.stft(x, 128, 64)
    mel = tf.matmul(tf.abs(spectrum) ** 2, tf.signal.linear_to_mel_weight_matrix(20, 65, 8000))
    return (tf.math.log(mel + 1e-3), tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(mel + 1e-3)),
            tf.abs(tf.signal.fft(tf.cast(x, tf.complex64))), tf.signal.dct(x), tf.signal.frame(x, 64, 32),
            tf.math.real(tf.signal.ifft(tf.signal.fft(tf.cast(x, tf.complex64)))), tf.signal.hann_window(64))


def sparse(tf, x, w):
    s = tf.sparse.from_dense(tf.where(x > 1, x, 0.0))
    return tf.nn.relu(tf.sparse.sparse_dense_matmul(s, w * 2) + 1), tf.sparse.reduce_sum(s, 1), tf.sparse.to_dense(s) + 1


def ragged(tf, x):
    lengths = tf.range(tf.shape(x)[0]) % 4 + 1
    r = tf.RaggedTensor.from_tensor(x, lengths=lengths)
    return (tf.reduce_sum(tf.exp(r), 1), (r * 2 + 1).to_tensor(), tf.reduce_max(r, 1),
            tf.ragged.map_flat_values(tf.nn.gelu, r).flat_values)


def sorting(tf, x):
    return (tf.sort(x), tf.argsort(x, direction="DESCENDING"), tf.searchsorted(tf.sort(x), x * 0.5),
            tf.math.top_k(x, 5), tf.math.in_top_k(tf.zeros([tf.shape(x)[0]], tf.int32), x, 3),
            tf.math.bincount(tf.cast(tf.abs(x) * 3, tf.int32)), tf.histogram_fixed_width(x, [-2.0, 2.0], 20),
            tf.unique(tf.reshape(tf.round(x), [-1])).y)


def statistics(tf, x):
    return (tf.math.reduce_std(x, 1), tf.math.reduce_variance(x, 0), tf.math.reduce_logsumexp(x, 1),
            tf.nn.moments(x, [0, 1]), tf.math.l2_normalize(x, 1), tf.math.zero_fraction(tf.nn.relu(x)),
            tf.math.confusion_matrix(tf.argmax(x[:, :5], 1), tf.argmin(x[:, :5], 1), 5), tf.clip_by_global_norm([x], 1.0)[0],
            tf.math.reduce_euclidean_norm(x, 1), tf.math.count_nonzero(x > 0, 1))


def complex_numbers(tf, x):
    z = tf.complex(x, x * 2)
    return tf.abs(z * z + 1), tf.math.angle(z), tf.math.real(tf.exp(z * 0.1)), tf.nn.softmax(tf.math.imag(z))


def double(tf, x):
    return tf.nn.softmax(x @ tf.transpose(x)), tf.math.erf(x), tf.linalg.inv(x @ tf.transpose(x) + 3 * tf.eye(
        x.shape[0], dtype=x.dtype)), tf.nn.gelu(x), tf.math.lgamma(tf.abs(x) + 1)


CASES = [Case(name, function_case(function, inputs)) for name, function, inputs in [
    ("einsums", einsums, lambda b: [noise((b, 16, 16)), noise((b, 16, 16), 2)]),
    ("segments", segments, lambda b: [noise((6 * b, 40))]),
    ("special_functions", special, lambda b: [noise((b, 200)), noise((b, 200), 2, 0.5, 6)]),
    ("linalg", decomposed, lambda b: [noise((b, 12, 12))]),
    ("signal", transforms, lambda b: [noise((b, 512))]),
    ("sparse_matmul", sparse, lambda b: [noise((b * 4, 64)), noise((64, 32), 2)]),
    ("ragged", ragged, lambda b: [noise((b * 4, 6))]),
    ("sorting", sorting, lambda b: [noise((b, 300))]),
    ("statistics", statistics, lambda b: [noise((b * 4, 300))]),
    ("complex", complex_numbers, lambda b: [noise((b, 300))]),
    ("double", double, lambda b: [noise((8 * b, 24)).astype(np.float64)]),
    ("embedding_bag", lambda tf, table, ids: tf.reduce_sum(
        tf.nn.embedding_lookup(table, ids) * tf.cast(ids > 0, tf.float32)[..., None], 1),
     lambda b: [noise((1000, 32)), integers(1000, (b, 20))]),
]]
