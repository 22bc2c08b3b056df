"""Autoencoders and a GAN, with the train_step of their own that their examples have."""
from bench.training_scripts.images import pictures


def autoencoder(epochs, callbacks, scale=1):
    import keras
    from keras import layers
    x, _ = pictures(2560 * scale, 28, 1, 10)
    inputs = keras.Input((28, 28, 1))
    z = layers.MaxPooling2D(2, padding="same")(layers.Conv2D(32, 3, activation="relu", padding="same")(inputs))
    z = layers.MaxPooling2D(2, padding="same")(layers.Conv2D(32, 3, activation="relu", padding="same")(z))
    z = layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same")(z)
    z = layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same")(z)
    model = keras.Model(inputs, layers.Conv2D(1, 3, activation="sigmoid", padding="same")(z))
    model.compile(optimizer="adam", loss="binary_crossentropy")
    model.fit(x, x, batch_size=128, epochs=epochs, shuffle=True, callbacks=callbacks, verbose=0)


def variational_autoencoder(epochs, callbacks, scale=1):
    import keras
    from keras import layers, ops
    import tensorflow as tf

    class Sampling(layers.Layer):
        def __init__(self):
            super().__init__()
            self.seeds = keras.random.SeedGenerator(1337)

        def call(self, inputs):
            mean, log_variance = inputs
            return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean), seed=self.seeds)

    inputs = keras.Input((28, 28, 1))
    z = layers.Conv2D(32, 3, activation="relu", strides=2, padding="same")(inputs)
    z = layers.Conv2D(64, 3, activation="relu", strides=2, padding="same")(z)
    z = layers.Dense(16, activation="relu")(layers.Flatten()(z))
    mean, log_variance = layers.Dense(2)(z), layers.Dense(2)(z)
    encoder = keras.Model(inputs, [mean, log_variance, Sampling()([mean, log_variance])])
    latent = keras.Input((2,))
    z = layers.Reshape((7, 7, 64))(layers.Dense(7 * 7 * 64, activation="relu")(latent))
    z = layers.Conv2DTranspose(64, 3, activation="relu", strides=2, padding="same")(z)
    z = layers.Conv2DTranspose(32, 3, activation="relu", strides=2, padding="same")(z)
    decoder = keras.Model(latent, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(z))

    class VAE(keras.Model):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = encoder, decoder
            self.total = keras.metrics.Mean(name="loss")

        @property
        def metrics(self):
            return [self.total]

        def train_step(self, data):
            with tf.GradientTape() as tape:
                mean, log_variance, z = self.encoder(data)
                image = self.decoder(z)
                rebuilt = ops.mean(ops.sum(keras.losses.binary_crossentropy(data, image), axis=(1, 2)))
                divergence = -0.5 * (1 + log_variance - ops.square(mean) - ops.exp(log_variance))
                loss = rebuilt + ops.mean(ops.sum(divergence, axis=1))
            gradients = tape.gradient(loss, self.trainable_weights)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_weights))
            self.total.update_state(loss)
            return {"loss": self.total.result()}

    x, _ = pictures(3840 * scale, 28, 1, 10)
    model = VAE()
    model.compile(optimizer=keras.optimizers.Adam())
    model.fit(x, batch_size=128, epochs=epochs, callbacks=callbacks, verbose=0)


def gan(epochs, callbacks, scale=1):
    """A DCGAN of 28x28 images that trains its two halves in a train_step."""
    import keras
    from keras import layers
    import tensorflow as tf
    discriminator = keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(64, 3, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(128, 3, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.GlobalMaxPooling2D(), layers.Dense(1)])
    generator = keras.Sequential([
        keras.Input((128,)), layers.Dense(7 * 7 * 128), layers.LeakyReLU(negative_slope=0.2), layers.Reshape((7, 7, 128)),
        layers.Conv2DTranspose(128, 4, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2DTranspose(128, 4, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(1, 7, padding="same", activation="sigmoid")])

    class GAN(keras.Model):
        def __init__(self):
            super().__init__()
            self.discriminator, self.generator = discriminator, generator
            self.d_loss, self.g_loss = keras.metrics.Mean(name="d_loss"), keras.metrics.Mean(name="loss")

        @property
        def metrics(self):
            return [self.d_loss, self.g_loss]

        def train_step(self, real):
            count = tf.shape(real)[0]
            images = tf.concat([self.generator(tf.random.normal((count, 128))), real], axis=0)
            labels = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], axis=0)
            labels += 0.05 * tf.random.uniform(tf.shape(labels))
            with tf.GradientTape() as tape:
                d_loss = self.loss(labels, self.discriminator(images))
            weights = self.discriminator.trainable_weights
            self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights))
            noise = tf.random.normal((count, 128))
            with tf.GradientTape() as tape:
                g_loss = self.loss(tf.zeros((count, 1)), self.discriminator(self.generator(noise)))
            weights = self.generator.trainable_weights
            self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights))
            self.d_loss.update_state(d_loss)
            self.g_loss.update_state(g_loss)
            return {"d_loss": self.d_loss.result(), "loss": self.g_loss.result()}

    keras.utils.set_random_seed(12)
    model = GAN()
    model.compile()
    model.d_optimizer, model.g_optimizer = keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-4)
    model.loss = keras.losses.BinaryCrossentropy(from_logits=True)
    x, _ = pictures(512 * scale, 28, 1, 10)
    model.fit(x, batch_size=64, epochs=epochs, callbacks=callbacks, verbose=0)


SCRIPTS = {s.__name__: s for s in (autoencoder, variational_autoencoder, gan)}
