"""Cases of ops on the colours of images, and of projections."""

from __future__ import annotations

import itertools

import numpy as np
import tensorflow as tf
from import_oracle import Case

raw = tf.raw_ops
RNG = np.random.default_rng(17)
# Of which no difference is so small a part of another that it is denormal, which TensorFlow flushes.
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 16, -16, 4, 1e-30, 3e38, -3e38], np.float32)


def pixels(*shape: int) -> np.ndarray:
    return RNG.uniform(-0.2, 1.2, (*shape, 3)).astype(np.float32)


def every_order() -> np.ndarray:
    """Pixels whose colours are few values in every order: all sextants, all ties, and hues that are
    just below or above 0."""
    values = [0.0, 0.5, np.nextafter(np.float32(0.5), 1), 0.75, 1.0, np.nextafter(np.float32(1), 0)]
    return np.array([list(itertools.product(values, repeat=3))], np.float32)


def special_pixels() -> np.ndarray:
    return np.array([list(itertools.product(SPECIAL, repeat=3))], np.float32)


IMAGES = {
    "": pixels(2, 5, 37),
    "OfRank3": pixels(4, 16),
    "OfRank5": pixels(2, 3, 1, 6),
    "OfOnePixel": pixels(1, 1, 1),
    "OfNoImages": pixels(0, 5, 6),
    "OfNoPixels": pixels(2, 0, 6),
}


def adjust_hue(delta: float):
    return lambda x: raw.AdjustHue(images=x, delta=delta)


def adjust_saturation(scale: float):
    return lambda x: raw.AdjustSaturation(images=x, scale=scale)


def adjust_contrast(factor: float):
    return lambda x: raw.AdjustContrastv2(images=x, contrast_factor=factor)


def color_cases():
    for name, image in IMAGES.items():
        # Means are sums in another order.
        yield Case(f"AdjustContrast{name}", adjust_contrast(1.7), [image], rel=1e-6)
        yield Case(f"AdjustHue{name}", adjust_hue(0.1), [image], ulps=0)
        yield Case(f"AdjustSaturation{name}", adjust_saturation(1.2), [image], ulps=0)
    many = pixels(1, 20000)
    for delta in (0, 0.3, -0.1, 1, -1, 1.9, -3.3, np.nan):
        for name, image in (("", many), ("EveryOrder", every_order()), ("Special", special_pixels())):
            yield Case(f"AdjustHue{name}By{delta}", adjust_hue(delta), [image], ulps=0)
    for scale in (0, 0.5, 1, 3, -1, np.inf, np.nan):
        for name, image in (("", many), ("EveryOrder", every_order()), ("Special", special_pixels())):
            yield Case(f"AdjustSaturation{name}By{scale}", adjust_saturation(scale), [image], ulps=0)
    for special in SPECIAL:
        image = pixels(2, 3, 4)
        image[1, 1, 1, 1] = special
        yield Case(f"AdjustContrastSpecial{special}", adjust_contrast(0.6), [image], rel=1e-6)
    deep = RNG.normal(0, 1, (2, 7, 9, 20)).astype(np.float32)
    yield Case("AdjustContrastOfManyChannels", adjust_contrast(-0.5), [deep], rel=1e-6)
    yield Case(
        "AdjustHueByArgument",
        lambda x, d: raw.AdjustHue(images=x, delta=d),
        [pixels(3, 4, 5), np.array(-0.4, np.float32)],
        ulps=0,
    )
    yield Case(
        "AdjustSaturationByArgument",
        lambda x, s: raw.AdjustSaturation(images=x, scale=s),
        [pixels(3, 4, 5), np.array(0.4, np.float32)],
        ulps=0,
    )
    # These fail in TensorFlow, on a CPU.
    half, four = pixels(2, 2).astype(np.float16), np.zeros((2, 2, 4), np.float32)
    for adjust in (adjust_contrast, adjust_hue, adjust_saturation):
        yield Case(f"{adjust.__name__}Half", adjust(0.5), [half], refused="f16 pixels")
    for adjust in (adjust_hue, adjust_saturation):
        yield Case(f"{adjust.__name__}OfFourChannels", adjust(0.5), [four], refused="4 channels")


def space_cases():
    """From red, green and blue to hue, saturation and value, and back."""
    ops = {"RGBToHSV": lambda x: raw.RGBToHSV(images=x), "HSVToRGB": lambda x: raw.HSVToRGB(images=x)}
    images = {**IMAGES, "EveryOrder": every_order(), "OfOneColor": pixels(), "OfF64": pixels(3, 9).astype(np.float64)}
    for name, op in ops.items():
        for of, image in images.items():
            yield Case(f"{name}{of}", op, [image], rel=3e-7)


def projection_cases():
    """A turn, a zoom and a shift, and points of every kind; rounding decides which pixel is the nearest."""
    image = RNG.standard_normal((3, 7, 9, 2)).astype(np.float32)
    same = np.array([1, 0, 0, 0, 1, 0, 0, 0], np.float32)
    near = (same + RNG.standard_normal((3, 8)) * [0.5, 0.5, 5, 0.5, 0.5, 5, 0.02, 0.02]).astype(np.float32)
    special = RNG.choice(np.array([0, 1, -1, 0.5, 1e9, -9e18, np.nan, np.inf], np.float32), (3, 8))
    for mode, way in itertools.product(("CONSTANT", "NEAREST", "REFLECT", "WRAP"), ("NEAREST", "BILINEAR")):
        options = dict(interpolation=way, fill_mode=mode, output_shape=[8, 5])
        v2, v3 = (lambda x, t, o=options: raw.ImageProjectiveTransformV2(images=x, transforms=t, **o),
                  lambda x, t, o=options: raw.ImageProjectiveTransformV3(images=x, transforms=t, fill_value=0.7, **o))
        yield Case(f"ProjectV2{mode}{way}", v2, [image, same[None]], ulps=0)
        yield Case(f"ProjectV3{mode}{way}", v3, [image, near], ulps=0)
        yield Case(f"ProjectV3{mode}{way}Special", v3, [image, special], ulps=0)
        yield Case(f"ProjectV3{mode}{way}OfOnePixel", v3, [image[:, :1, :1], near], ulps=0)


CASES = [*color_cases(), *space_cases(), *projection_cases()]
