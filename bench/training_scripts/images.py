"""Classifiers of images, and a segmenter."""
import numpy as np

from bench.models.workload import integers, noise


def pictures(count: int, size: int, channels: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform noise in [0, 1] to which each class adds a pattern of its own, so that there is something to learn."""
    labels = integers(classes, (count,))
    patterns = noise((classes, size, size, channels), 3, low=0, high=1)
    return 0.5 * noise((count, size, size, channels), low=0, high=1) + 0.5 * patterns[labels], labels


def mnist_convnet(epochs, callbacks, scale=1):
    import keras
    from keras import layers
    x, labels = pictures(6400 * scale, 28, 1, 10)
    y = keras.utils.to_categorical(labels, 10)
    model = keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(2), layers.Flatten(), layers.Dropout(0.5),
        layers.Dense(10, activation="softmax")])
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    model.fit(x, y, batch_size=128, epochs=epochs, validation_split=0.1, callbacks=callbacks, verbose=0)


def first_convnet(epochs, callbacks, scale=1):
    """The same with batches of 64 and without a validation."""
    import keras
    from keras import layers
    x, y = pictures(3200 * scale, 28, 1, 10)
    model = keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dropout(0.5),
        layers.Dense(10)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(x, y, batch_size=64, epochs=epochs, callbacks=callbacks, verbose=0)


def cifar_augmented(epochs, callbacks, scale=1):
    import keras
    from keras import layers
    x, y = pictures(1600 * scale, 32, 3, 10)
    model = keras.Sequential([
        keras.Input((32, 32, 3)),
        layers.RandomFlip("horizontal"), layers.RandomRotation(0.1), layers.RandomZoom(0.1),
        layers.Conv2D(32, 3, padding="same", activation="relu"), layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(), layers.Dropout(0.25),
        layers.Conv2D(64, 3, padding="same", activation="relu"), layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(), layers.Dropout(0.25),
        layers.Flatten(), layers.Dense(512, activation="relu"), layers.Dropout(0.5), layers.Dense(10, activation="softmax")])
    model.compile(optimizer=keras.optimizers.RMSprop(1e-4), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=32, epochs=epochs, validation_data=pictures(320, 32, 3, 10), callbacks=callbacks, verbose=0)


def resnet20(epochs, callbacks, scale=1):
    import keras
    from keras import layers

    def block(x, filters, strides):
        y = layers.Conv2D(filters, 3, strides, padding="same", kernel_regularizer=keras.regularizers.L2(1e-4))(x)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(y))
        if strides > 1:
            x = layers.Conv2D(filters, 1, strides, padding="same")(x)
        return layers.Activation("relu")(layers.add([x, y]))

    inputs = keras.Input((32, 32, 3))
    x = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same")(inputs)))
    for stage, filters in enumerate((16, 32, 64)):
        for i in range(3):
            x = block(x, filters, 2 if stage and i == 0 else 1)
    x = layers.Flatten()(layers.AveragePooling2D(8)(x))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
    model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(1e-3), metrics=["accuracy"])
    images, labels = pictures(960 * scale, 32, 3, 10)
    model.fit(images, labels, batch_size=32, epochs=epochs, callbacks=callbacks, verbose=0)


def convnext(epochs, callbacks, scale=1):
    import keras
    from keras import layers

    def block(x, width):
        y = layers.DepthwiseConv2D(7, padding="same")(x)
        y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(y))
        return layers.add([x, layers.Dense(width)(y)])

    inputs = keras.Input((32, 32, 3))
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv2D(48, 2, 2)(inputs))
    for width in (48, 96):
        if width > 48:
            x = layers.Conv2D(width, 2, 2)(layers.LayerNormalization(epsilon=1e-6)(x))
        for _ in range(2):
            x = block(x, width)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, layers.Dense(10)(x))
    model.compile(keras.optimizers.AdamW(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    images, labels = pictures(960 * scale, 32, 3, 10)
    model.fit(images, labels, batch_size=32, epochs=epochs, callbacks=callbacks, verbose=0)


def unet(epochs, callbacks, scale=1):
    """The Xception-style U-Net of the segmentation example, on smaller images."""
    import keras
    from keras import layers
    inputs = keras.Input((64, 64, 3))
    x = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(32, 3, 2, padding="same")(inputs)))
    before = x
    for filters in (64, 128):
        for _ in range(2):
            x = layers.Activation("relu")(x)
            x = layers.BatchNormalization()(layers.SeparableConv2D(filters, 3, padding="same")(x))
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = layers.add([x, layers.Conv2D(filters, 1, 2, padding="same")(before)])
        before = x
    for filters in (128, 64, 32):
        for _ in range(2):
            x = layers.Activation("relu")(x)
            x = layers.BatchNormalization()(layers.Conv2DTranspose(filters, 3, padding="same")(x))
        x = layers.UpSampling2D(2)(x)
        x = layers.add([x, layers.Conv2D(filters, 1, padding="same")(layers.UpSampling2D(2)(before))])
        before = x
    model = keras.Model(inputs, layers.Conv2D(3, 3, activation="softmax", padding="same")(x))
    model.compile(optimizer=keras.optimizers.Adam(1e-4), loss="sparse_categorical_crossentropy")
    count = 128 * scale
    model.fit(noise((count, 64, 64, 3), low=0, high=1), integers(3, (count, 64, 64, 1)), batch_size=32, epochs=epochs,
              callbacks=callbacks, verbose=0)


SCRIPTS = {s.__name__: s for s in (mnist_convnet, first_convnet, cifar_augmented, resnet20, convnext, unet)}
