"""Classifiers of texts and of series."""
import numpy as np

from bench.models.workload import integers, noise


def reviews(count: int, length: int, words: int) -> tuple[np.ndarray, np.ndarray]:
    """Word numbers, padded with zeros in front as in the IMDB example; which words come tells the class."""
    labels = integers(2, (count,))
    x = integers(words // 2, (count, length), 5) + labels[:, None] * (words // 4)
    starts = integers(length // 2, (count,), 9)
    return np.where(np.arange(length)[None] < starts[:, None], 0, x), labels


def bidirectional_lstm(epochs, callbacks, scale=1):
    import keras
    from keras import layers
    x, y = reviews(480 * scale, 100, 20000)
    inputs = keras.Input((None,), dtype="int32")
    z = layers.Embedding(20000, 128)(inputs)
    z = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(z)
    z = layers.Bidirectional(layers.LSTM(64))(z)
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(z))
    model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=32, epochs=epochs, validation_split=0.1, callbacks=callbacks, verbose=0)


def masked_lstm(epochs, callbacks, scale=1):
    """mask_zero, as tutorials have it."""
    import keras
    from keras import layers
    x, y = reviews(640 * scale, 60, 8000)
    model = keras.Sequential([
        keras.Input((60,), dtype="int32"), layers.Embedding(8000, 64, mask_zero=True),
        layers.Bidirectional(layers.LSTM(64)), layers.Dense(64, activation="relu"), layers.Dense(1)])
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(x, y, batch_size=64, epochs=epochs, callbacks=callbacks, verbose=0)


def transformer_block(epochs, callbacks, scale=1):
    import keras
    from keras import layers
    import tensorflow as tf

    class TokenAndPosition(layers.Layer):
        def __init__(self, length, words, width):
            super().__init__()
            self.length = length
            self.tokens, self.positions = layers.Embedding(words, width), layers.Embedding(length, width)

        def call(self, x):
            return self.tokens(x) + self.positions(tf.range(0, self.length))

    x, y = reviews(960 * scale, 200, 20000)
    inputs = keras.Input((200,), dtype="int32")
    z = TokenAndPosition(200, 20000, 32)(inputs)
    attended = layers.Dropout(0.1)(layers.MultiHeadAttention(2, 32)(z, z))
    z = layers.LayerNormalization(epsilon=1e-6)(z + attended)
    fed = layers.Dropout(0.1)(layers.Dense(32)(layers.Dense(32, activation="relu")(z)))
    z = layers.LayerNormalization(epsilon=1e-6)(z + fed)
    z = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(z))
    z = layers.Dropout(0.1)(layers.Dense(20, activation="relu")(z))
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(z))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=32, epochs=epochs, validation_split=0.1, callbacks=callbacks, verbose=0)


def word_convnet(epochs, callbacks, scale=1):
    """Text from raw strings: TextVectorization in the input pipeline."""
    import keras
    from keras import layers
    import tensorflow as tf
    numbers, y = reviews(2400 * scale, 80, 2000)
    lines = [" ".join(f"w{n}" for n in row if n) or "w1" for row in numbers]
    vectorize = layers.TextVectorization(max_tokens=2000, output_sequence_length=80)
    vectorize.adapt(tf.data.Dataset.from_tensor_slices(lines).batch(128))
    data = tf.data.Dataset.from_tensor_slices((lines, y)).shuffle(2400, seed=3).batch(32)
    data = data.map(lambda text, label: (vectorize(text), label)).prefetch(2)
    model = keras.Sequential([
        keras.Input((80,), dtype="int64"), layers.Embedding(2001, 64), layers.Dropout(0.5),
        layers.Conv1D(64, 7, strides=3, activation="relu"), layers.GlobalMaxPooling1D(),
        layers.Dense(64, activation="relu"), layers.Dropout(0.5), layers.Dense(1, activation="sigmoid")])
    model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
    model.fit(data, epochs=epochs, callbacks=callbacks, verbose=0)


def weather_lstm(epochs, callbacks, scale=1):
    import keras
    from keras import layers
    series = noise((3000 * scale, 7)).cumsum(0).astype(np.float32) / 50
    data = keras.utils.timeseries_dataset_from_array(series[:-72], series[72:, 1], sequence_length=60, sampling_rate=1,
                                                     batch_size=256, seed=4)
    inputs = keras.Input((60, 7))
    model = keras.Model(inputs, layers.Dense(1)(layers.LSTM(32)(inputs)))
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    model.fit(data, epochs=epochs, callbacks=callbacks, verbose=0)


SCRIPTS = {s.__name__: s for s in (bidirectional_lstm, masked_lstm, transformer_block, word_convnet, weather_lstm)}
