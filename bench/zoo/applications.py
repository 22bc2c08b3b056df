"""Models of keras.applications with random weights, at sizes that keep a sweep short."""
from bench.models.vision import application
from bench.models.workload import Workload, noise
from bench.zoo.case import Case


# Batch norm's statistics come from few pixels in the last layers of these: TensorFlow with and without oneDNN differs
# by 2e-4.
LOOSE = {"InceptionV3": 2e-3, "InceptionResNetV2": 2e-3}


def image_case(app: str, size: int) -> Case:
    def make(name: str, batch: int) -> Workload:
        return Workload(name, build=lambda: application(app, size), calibrate=True, tolerance=LOOSE.get(app, 2e-5),
                        inputs=lambda: [noise((batch, size, size, 3))])

    return Case(app.lower(), make)


CASES = [image_case(app, size) for app, size in [
    ("ConvNeXtTiny", 96), ("DenseNet121", 96), ("InceptionV3", 96), ("Xception", 96), ("NASNetMobile", 96),
    ("VGG16", 64), ("MobileNet", 128), ("MobileNetV3Small", 128), ("EfficientNetV2B0", 96), ("ResNet50V2", 96),
    ("InceptionResNetV2", 96)]]
