"""The models of `bench/gpu_acceptance` for its rivals: one text for PyTorch and JAX, of the same sizes as models.json.

    o = Torch()                                   # or Jax(): the few operations that the models are made of
    weights = o.arrays(NAMED["dlrm"].weights)     # on the card
    NAMED["dlrm"].function(o, weights, inputs)

Weights are random: time alone is compared.  Single precision, strict, channels last.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterator

import numpy as np

Shape = tuple[int, ...]


class Torch:
    def __init__(self) -> None:
        import torch
        import torch.nn.functional as functional
        self.torch, self.f = torch, functional

    def arrays(self, shapes: list) -> list:
        return [self.torch.from_numpy(random(shape, n)).cuda() for n, shape in enumerate(shapes)]

    def softmax(self, x): return self.f.softmax(x, dim=-1)
    def relu(self, x): return self.f.relu(x)
    def sigmoid(self, x): return self.torch.sigmoid(x)
    def tanh(self, x): return self.torch.tanh(x)
    def gelu(self, x, approximate=False): return self.f.gelu(x, approximate="tanh" if approximate else "none")
    def concat(self, parts, axis): return self.torch.cat(parts, dim=axis)
    def stack(self, parts, axis): return self.torch.stack(parts, dim=axis)
    def transpose(self, x, order): return x.permute(order)
    def mean(self, x, axes): return x.mean(dim=axes)
    def take(self, table, ids): return self.f.embedding(ids, table)

    def norm(self, x, scale, offset, epsilon):
        return self.f.layer_norm(x, x.shape[-1:], scale, offset, epsilon)

    def convolve(self, x, kernel, stride, padding):
        x, kernel = x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1)
        return self.f.conv2d(x, kernel, stride=stride, padding=padding).permute(0, 2, 3, 1)

    def pool(self, x):
        return self.f.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1).permute(0, 2, 3, 1)


class Jax:
    def __init__(self) -> None:
        import jax
        self.jax, self.np = jax, jax.numpy

    def arrays(self, shapes: list) -> list:
        return [self.jax.device_put(random(shape, n)) for n, shape in enumerate(shapes)]

    def softmax(self, x): return self.jax.nn.softmax(x, axis=-1)
    def relu(self, x): return self.jax.nn.relu(x)
    def sigmoid(self, x): return self.jax.nn.sigmoid(x)
    def tanh(self, x): return self.np.tanh(x)
    def gelu(self, x, approximate=False): return self.jax.nn.gelu(x, approximate=approximate)
    def concat(self, parts, axis): return self.np.concatenate(parts, axis=axis)
    def stack(self, parts, axis): return self.np.stack(parts, axis=axis)
    def transpose(self, x, order): return self.np.transpose(x, order)
    def mean(self, x, axes): return x.mean(axis=axes)
    def take(self, table, ids): return self.np.take(table, ids, axis=0)

    def norm(self, x, scale, offset, epsilon):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        return (x - mean) / self.np.sqrt(variance + epsilon) * scale + offset

    def convolve(self, x, kernel, stride, padding):
        return self.jax.lax.conv_general_dilated(x, kernel, (stride, stride), [(padding, padding)] * 2,
                                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(self, x):
        return self.jax.lax.reduce_window(x, -self.np.inf, self.jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                                          [(0, 0), (1, 1), (1, 1), (0, 0)])


def random(shape: Shape, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
    return values * np.float32(max(int(np.prod(shape[:-1])), 1) ** -0.5 if len(shape) > 1 else 0.02)


@dataclass(frozen=True)
class Rival:
    weights: list[Shape]
    inputs: Callable[[], list[np.ndarray]]
    function: Callable[[Any, Iterator, list], Any]


def heads(o, x, count: int):
    batch, length, width = x.shape
    return o.transpose(x.reshape(batch, length, count, width // count), (0, 2, 1, 3))


def attention(o, q, k, v):
    scores = o.softmax(q @ o.transpose(k, (0, 1, 3, 2)) * q.shape[-1] ** -0.5)
    return o.transpose(scores @ v, (0, 2, 1, 3)).reshape(q.shape[0], q.shape[2], -1)


DENSE = [(768, 768), (768,)]
BERT_BLOCK = [*DENSE * 4, (768,), (768,), (768, 3072), (3072,), (3072, 768), (768,), (768,), (768,)]


def bert(o, weights, inputs):
    w = iter(weights)
    x = o.norm(o.take(next(w), inputs[0]) + next(w)[None, :inputs[0].shape[1]], next(w), next(w), 1e-12)
    for _ in range(12):
        q, k, v = (heads(o, x @ next(w) + next(w), 12) for _ in range(3))
        x = o.norm(x + attention(o, q, k, v) @ next(w) + next(w), next(w), next(w), 1e-12)
        h = o.gelu(x @ next(w) + next(w)) @ next(w) + next(w)
        x = o.norm(x + h, next(w), next(w), 1e-12)
    return x, o.tanh(x[:, 0] @ next(w) + next(w))


GPT_BLOCK = [(768,), (768,), (768, 2304), (2304,), *DENSE, (768,), (768,), (768, 3072), (3072,), (3072, 768), (768,)]


def gpt2(o, weights, inputs):
    w, past = iter(weights), iter(inputs[2:])
    x, caches = o.take(next(w), inputs[0]) + o.take(next(w), inputs[1]), []
    for _ in range(12):
        h = o.norm(x, next(w), next(w), 1e-5) @ next(w) + next(w)
        q, k, v = (heads(o, h[..., 768 * n:768 * (n + 1)], 12) for n in range(3))
        k, v = o.concat([next(past), k], 2), o.concat([next(past), v], 2)
        caches += [k, v]
        x = x + attention(o, q, k, v) @ next(w) + next(w)
        h = o.norm(x, next(w), next(w), 1e-5) @ next(w) + next(w)
        x = x + o.gelu(h, approximate=True) @ next(w) + next(w)
    return o.norm(x, next(w), next(w), 1e-5) @ next(w), *caches


STAGES = [(64, 3), (128, 4), (256, 6), (512, 3)]


def resnet_weights() -> list[Shape]:
    shapes, before = [(7, 7, 3, 64), (64,)], 64
    for width, blocks in STAGES:
        for block in range(blocks):
            if block == 0:
                shapes += [(1, 1, before, 4 * width), (4 * width,)]
            shapes += [(1, 1, before, width), (width,), (3, 3, width, width), (width,), (1, 1, width, 4 * width),
                       (4 * width,)]
            before = 4 * width
    return [*shapes, (2048, 1000), (1000,)]


def resnet50(o, weights, inputs):
    """Batch norm is part of the weights, as every compiler for inference makes it."""
    w = iter(weights)
    x = o.pool(o.relu(o.convolve(inputs[0], next(w), 2, 3) + next(w)))
    for stage, (width, blocks) in enumerate(STAGES):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            short = o.convolve(x, next(w), stride, 0) + next(w) if block == 0 else x
            h = o.relu(o.convolve(x, next(w), stride, 0) + next(w))
            h = o.relu(o.convolve(h, next(w), 1, 1) + next(w))
            x = o.relu(o.convolve(h, next(w), 1, 0) + next(w) + short)
    return o.softmax(o.mean(x, (1, 2)) @ next(w) + next(w))


def softmax_chain(o, weights, inputs):
    x, bias, scale, offset = inputs
    return o.softmax(o.norm(o.gelu(x + bias), scale, offset, 1e-5))


BELOW = np.flatnonzero(np.tri(27, k=-1)).astype(np.int64)


def dlrm(o, weights, inputs):
    w = iter(weights)
    x = inputs[0]
    for _ in range(3):
        x = o.relu(x @ next(w) + next(w))
    features = o.stack([x, *(o.take(next(w), inputs[1][:, n]) for n in range(26))], 1)
    dots = (features @ o.transpose(features, (0, 2, 1))).reshape(x.shape[0], 27 * 27)
    y = o.concat([x, dots[:, BELOW]], 1)
    for _ in range(2):
        y = o.relu(y @ next(w) + next(w))
    return o.sigmoid(y @ next(w) + next(w))


def integers(below: int, shape: Shape) -> np.ndarray:
    return np.random.default_rng(7).integers(0, below, shape).astype(np.int32)


def dlrm_of(batch: int) -> Rival:
    dense = [(13, 512), (512,), (512, 256), (256,), (256, 32), (32,)]
    top = [(383, 512), (512,), (512, 256), (256,), (256, 1), (1,)]
    return Rival([*dense, *[(10000, 32)] * 26, *top],
                 lambda: [random((batch, 13), 3), integers(10000, (batch, 26))], dlrm)


def bert_of(batch: int) -> Rival:
    return Rival([(30522, 768), (512, 768), (768,), (768,), *BERT_BLOCK * 12, *DENSE],
                 lambda: [integers(30522, (batch, 128))], bert)


def resnet_of(batch: int) -> Rival:
    return Rival(resnet_weights(), lambda: [random((batch, 224, 224, 3), 3)], resnet50)


NAMED = {
    "bert_base": bert_of(1), "bert_base_bs32": bert_of(32),
    "dlrm": dlrm_of(1), "dlrm_bs2048": dlrm_of(2048),
    "gpt2_decode": Rival([(50257, 768), (1024, 768), *GPT_BLOCK * 12, (768,), (768,), (768, 50257)],
                         lambda: [np.array([[42]], np.int32), np.array([[255]], np.int32),
                                  *(random((1, 12, 255, 64), n) for n in range(24))], gpt2),
    "resnet50": resnet_of(1), "resnet50_bs32": resnet_of(32),
    "softmax_chain": Rival([], lambda: [random((512, 1024), 1), *(random((1024,), n) for n in range(3))],
                           softmax_chain),
}
