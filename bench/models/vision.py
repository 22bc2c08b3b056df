"""Image models: keras.applications with random weights, and a small vision transformer."""
from typing import Any

from bench.models.layers import add_positions, encoder_block
from bench.models.workload import Workload, noise


def application(name: str, size: int = 224, classes: int = 1000, **options) -> Any:
    import keras
    return getattr(keras.applications, name)(
        weights=None, input_shape=(size, size, 3), classes=classes, **options)


def image_workload(name: str, app: str, batch: int = 1, **options: float) -> Workload:
    pixels = (0, 255) if app.startswith("EfficientNet") else (None, None)  # it rescales by itself
    return Workload(name, build=lambda: application(app), calibrate=True,
                    inputs=lambda: [noise((batch, 224, 224, 3), low=pixels[0], high=pixels[1])], **options)


def vit_tiny() -> Any:
    """12 layers, width 192, 3 heads, patches of 16 x 16."""
    import keras
    from keras import layers
    image = keras.Input((224, 224, 3))
    x = layers.Reshape((196, 192))(layers.Conv2D(192, 16, 16, name="patches")(image))
    x = add_positions(x, 196, 192)
    for i in range(12):
        x = encoder_block(x, i, 192, 3, norm_first=True)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(x))
    return keras.Model(image, layers.Dense(1000, name="head")(x))


# 50 convolutions of random weights multiply every rounding: stock TensorFlow's results are 3.2e-5 from f64's, 3.5e-5 without
# oneDNN, Tektite's 3.2e-5. So any two of them may be twice as far apart.
RESNET_TOLERANCE = 6e-5

WORKLOADS = [
    image_workload("resnet50", "ResNet50", tolerance=RESNET_TOLERANCE),
    image_workload("resnet50_bs16", "ResNet50", batch=16, tolerance=RESNET_TOLERANCE),
    image_workload("mobilenetv2", "MobileNetV2"),
    image_workload("efficientnetb0", "EfficientNetB0"),
    Workload("vit_tiny", build=vit_tiny, inputs=lambda: [noise((1, 224, 224, 3))]),
]
