"""Models of keras.applications with random weights, at sizes that keep a sweep short."""
from bench.models.vision import application
from bench.models.workload import Workload, noise
from bench.zoo.case import Case


# Batch norm's statistics come from few pixels in the last layers of these, at batch 1 above all: TensorFlow with and
# without oneDNN differs by 2e-4 in InceptionV3 and up to 6e-5 in the rest. (At 96 pixels Inception's last layers are
# one pixel, which is nothing but rounding where its statistics are taken off.)
LOOSE = {"InceptionV3": 2e-3, "InceptionResNetV2": 2e-4, "NASNetMobile": 2e-4, "ResNet50V2": 2e-4}


def image_case(app: str, size: int) -> Case:
    def make(name: str, batch: int) -> Workload:
        return Workload(name, build=lambda: application(app, size), calibrate=True, tolerance=LOOSE.get(app, 2e-5),
                        inputs=lambda: [noise((batch, size, size, 3))])

    return Case(app.lower(), make)


CASES = [image_case(app, size) for app, size in [
    ("ConvNeXtTiny", 96), ("DenseNet121", 96), ("InceptionV3", 160), ("Xception", 96), ("NASNetMobile", 96),
    ("VGG16", 64), ("MobileNet", 128), ("MobileNetV3Small", 128), ("EfficientNetV2B0", 96), ("ResNet50V2", 96),
    ("InceptionResNetV2", 160)]]
