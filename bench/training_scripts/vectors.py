"""Tables of numbers and names: small models, whose steps take less than a millisecond."""
import numpy as np

from bench.models.workload import integers, noise


def tabular(epochs, callbacks, scale=1):
    """Columns of numbers and of categories, each with its own preprocessing layer, through tf.data."""
    import keras
    from keras import layers
    import tensorflow as tf
    count = 6400 * scale
    numbers = {f"number{i}": noise((count,), i) for i in range(6)}
    categories = {f"category{i}": integers(8 + 10 * i, (count,), i) for i in range(5)}
    y = (numbers["number0"] + 0.3 * categories["category1"] > 1).astype(np.int32)
    data = tf.data.Dataset.from_tensor_slices(({**numbers, **categories}, y)).shuffle(1024, seed=5).batch(32).prefetch(2)
    inputs, encoded = {}, []
    for name, column in numbers.items():
        inputs[name] = keras.Input((1,), name=name)
        scale = layers.Normalization(mean=float(column.mean()), variance=float(column.var()))
        encoded.append(scale(inputs[name]))
    for name, column in categories.items():
        inputs[name] = keras.Input((1,), name=name, dtype="int32")
        encoded.append(layers.Flatten()(layers.Embedding(int(column.max()) + 1, 8)(inputs[name])))
    x = layers.Dropout(0.5)(layers.Dense(32, activation="relu")(layers.concatenate(encoded)))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    model.fit(data, epochs=epochs, callbacks=callbacks, verbose=0)


def recommender(epochs, callbacks, scale=1):
    """Collaborative filtering: two embeddings, their product."""
    import keras
    from keras import layers, ops

    class Recommender(keras.Model):
        def __init__(self, users, films, width):
            super().__init__()
            regularizer = keras.regularizers.l2(1e-6)
            self.user = layers.Embedding(users, width, embeddings_initializer="he_normal", embeddings_regularizer=regularizer)
            self.film = layers.Embedding(films, width, embeddings_initializer="he_normal", embeddings_regularizer=regularizer)
            self.user_bias, self.film_bias = layers.Embedding(users, 1), layers.Embedding(films, 1)

        def call(self, inputs):
            user, film = inputs[:, 0], inputs[:, 1]
            product = ops.sum(self.user(user) * self.film(film), axis=-1, keepdims=True)
            return ops.sigmoid(product + self.user_bias(user) + self.film_bias(film))

    count = 12800 * scale
    x = np.stack([integers(600, (count,), 1), integers(9000, (count,), 2)], axis=1)
    model = Recommender(600, 9000, 50)
    model.compile(loss=keras.losses.BinaryCrossentropy(), optimizer=keras.optimizers.Adam(1e-3))
    model.fit(x, noise((count,), 3, low=0, high=1), batch_size=64, epochs=epochs, validation_split=0.1, callbacks=callbacks,
              verbose=0)


def mlp(epochs, callbacks, scale=1):
    """The first network of every tutorial."""
    import keras
    from keras import layers
    x, y = noise((9600 * scale, 784), low=0, high=1), integers(10, (9600 * scale,))
    model = keras.Sequential([
        keras.Input((784,)), layers.Dense(512, activation="relu"), layers.Dropout(0.2),
        layers.Dense(512, activation="relu"), layers.Dropout(0.2), layers.Dense(10, activation="softmax")])
    model.compile(optimizer="rmsprop", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x, y, batch_size=128, epochs=epochs, callbacks=callbacks, verbose=0)


SCRIPTS = {s.__name__: s for s in (tabular, recommender, mlp)}
