"""What TensorFlow's and Keras's tutorials build, written anew with small sizes, with Keras 3."""
from bench.models.workload import integers, noise
from bench.shipped_programs.program import Program


def seeded():
    import keras
    import tensorflow as tf
    keras.utils.set_random_seed(3)
    return tf, keras


def translation():
    """An attention decoder's loop, which appends to an array that grows until all rows have ended."""
    tf, keras = seeded()
    k, units, words = keras.layers, 128, 500
    encoder = keras.Sequential([k.Embedding(words, units), k.Bidirectional(k.GRU(units, return_sequences=True), "sum")])
    embedding, cell, attention = k.Embedding(words, units), k.GRU(units, return_sequences=True, return_state=True), \
        k.MultiHeadAttention(1, units)
    output = k.Dense(words)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def translate(sentence):
        rows = tf.shape(sentence)[0]
        context, token, state = encoder(sentence), tf.ones([rows, 1], tf.int32), tf.zeros([rows, units])
        done, tokens = tf.zeros([rows, 1], tf.bool), tf.TensorArray(tf.int32, 1, dynamic_size=True)
        for i in tf.range(25):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(token, tf.TensorShape([None, 1]))])
            x, state = cell(embedding(token), initial_state=state)
            token = tf.argmax(output(x + attention(x, context)), -1, tf.int32)
            done = done | (token == 2)
            token = tf.where(done, 0, token)
            tokens = tokens.write(i, token)
            if tf.reduce_all(done):
                break
        return tf.transpose(tokens.stack()[..., 0])

    sentence = tf.constant(integers(words - 5, (4, 12)) + 3)
    return lambda: translate(sentence)


def generative_adversarial():
    tf, keras = seeded()
    k = keras.layers
    generator = keras.Sequential([
        keras.Input((64,)), k.Dense(7 * 7 * 64, use_bias=False), k.BatchNormalization(), k.LeakyReLU(),
        k.Reshape((7, 7, 64)), k.Conv2DTranspose(32, 5, strides=2, padding="same", use_bias=False), k.BatchNormalization(),
        k.LeakyReLU(), k.Conv2DTranspose(1, 5, strides=2, padding="same", activation="tanh")])
    discriminator = keras.Sequential([
        keras.Input((28, 28, 1)), k.Conv2D(32, 5, strides=2, padding="same"), k.LeakyReLU(),
        k.Conv2D(64, 5, strides=2, padding="same"), k.LeakyReLU(), k.Flatten(), k.Dense(1)])
    entropy = keras.losses.BinaryCrossentropy(from_logits=True)
    optimizers = keras.optimizers.Adam(1e-4), keras.optimizers.Adam(1e-4)
    images, seed = tf.constant(noise((32, 28, 28, 1))), tf.constant(noise((32, 64), 2))

    @tf.function
    def step():
        with tf.GradientTape() as one, tf.GradientTape() as other:
            fakes = generator(seed, training=True)
            real, fake = discriminator(images, training=True), discriminator(fakes, training=True)
            generated = entropy(tf.ones_like(fake), fake)
            discriminated = entropy(tf.ones_like(real), real) + entropy(tf.zeros_like(fake), fake)
        for tape, loss, model, optimizer in zip((one, other), (generated, discriminated), (generator, discriminator),
                                                optimizers):
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return generated, discriminated

    return step


def time_series():
    tf, keras = seeded()
    model = keras.Sequential([keras.layers.LSTM(32, return_sequences=True), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    x, y = noise((32, 24, 19)), noise((32, 24, 1), 2)
    return lambda: model.train_on_batch(x, y)


def optical_character_recognition():
    """Convolutions, two recurrent layers and the loss of connectionist temporal classification."""
    tf, keras = seeded()
    k = keras.layers
    model = keras.Sequential([
        keras.Input((100, 32, 1)), k.Conv2D(16, 3, padding="same", activation="relu"), k.MaxPooling2D(),
        k.Conv2D(32, 3, padding="same", activation="relu"), k.MaxPooling2D(), k.Reshape((25, 8 * 32)), k.Dense(32, "relu"),
        k.Bidirectional(k.LSTM(32, return_sequences=True)), k.Bidirectional(k.LSTM(16, return_sequences=True)), k.Dense(20)])
    optimizer = keras.optimizers.Adam(1e-3)
    images, labels = tf.constant(noise((8, 100, 32, 1))), tf.constant(integers(19, (8, 5)))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.ctc_loss(labels, model(images, training=True), tf.fill([8], 5), tf.fill([8], 25),
                                                 logits_time_major=False, blank_index=19))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    return step


def deep_dream():
    tf, keras = seeded()
    k = keras.layers
    model = keras.Sequential([keras.Input((None, None, 3)), *[k.Conv2D(n, 3, strides=2, activation="relu") for n in (16, 32, 64)]])

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3]), tf.TensorSpec([], tf.int32), tf.TensorSpec([])])
    def dream(image, steps, size):
        loss = tf.constant(0.0)
        for _ in tf.range(steps):
            with tf.GradientTape() as tape:
                tape.watch(image)
                loss = tf.reduce_mean(model(image[None]))
            gradient = tape.gradient(loss, image)
            image = tf.clip_by_value(image + size * gradient / (tf.math.reduce_std(gradient) + 1e-8), -1, 1)
        return loss, image

    image = tf.constant(noise((96, 128, 3), low=-1, high=1))
    return lambda: dream(image, tf.constant(5), tf.constant(0.01))


def style_transfer():
    tf, keras = seeded()
    k = keras.layers
    features = keras.Sequential([keras.Input((96, 96, 3)), *[layer for n in (16, 32) for layer in (
        k.Conv2D(n, 3, padding="same", activation="relu"), k.Conv2D(n, 3, padding="same", activation="relu"),
        k.AveragePooling2D(2))]])
    gram = lambda x: tf.einsum("bijc,bijd->bcd", x, x) / 576.0
    style = gram(features(noise((1, 96, 96, 3), 2)))
    image, optimizer = tf.Variable(noise((1, 96, 96, 3), low=0, high=1)), keras.optimizers.Adam(0.02)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((gram(features(image)) - style) ** 2) + 30 * tf.image.total_variation(image)[0] * 1e-6
        optimizer.apply([tape.gradient(loss, image)], [image])
        image.assign(tf.clip_by_value(image, 0.0, 1.0))
        return loss

    return step


def actor_critic():
    """An episode of 50 steps of a cart and a pole, in the graph, with arrays that grow, and its gradient."""
    tf, keras = seeded()
    common, actor, critic = (keras.layers.Dense(n, a) for n, a in ((64, "relu"), (2, None), (1, None)))
    variables = []
    for layer, size in ((common, 4), (actor, 64), (critic, 64)):
        layer.build((None, size))
        variables += layer.trainable_variables
    optimizer, dynamics = keras.optimizers.Adam(0.01), tf.constant(noise((6, 4)) * 0.1)

    @tf.function
    def step(seed):
        with tf.GradientTape() as tape:
            log_probs = tf.TensorArray(tf.float32, 0, dynamic_size=True)
            values, rewards = (tf.TensorArray(tf.float32, 0, dynamic_size=True) for _ in range(2))
            state = tf.constant([0.01, 0.02, -0.01, 0.03])
            for t in tf.range(50):
                x = common(state[None])
                logits = actor(x)
                action = tf.random.stateless_categorical(logits, 1, tf.stack([seed, t]))[0, 0]
                log_probs = log_probs.write(t, tf.nn.log_softmax(logits)[0, action])
                values = values.write(t, critic(x)[0, 0])
                push = tf.concat([state, tf.one_hot(action, 2)], 0)
                state = tf.tanh(tf.linalg.matvec(dynamics, push, transpose_a=True))
                rewards = rewards.write(t, 1.0 - tf.abs(state[2]))
            returns = tf.cumsum(rewards.stack(), reverse=True)
            advantage = returns - values.stack()
            loss = -tf.reduce_sum(log_probs.stack() * tf.stop_gradient(advantage)) + tf.reduce_sum(advantage ** 2)
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    seeds = iter(range(10**9))
    return lambda: step(tf.constant(next(seeds)))


def saved_model():
    tf, keras = seeded()
    import tempfile
    model = keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, include_top=False, pooling="avg")
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        loaded = tf.saved_model.load(folder)
    image = tf.constant(noise((1, 96, 96, 3)))
    return lambda: loaded.signatures["serving_default"](image)


def graph_session():
    """TensorFlow 1: a session that trains with momentum."""
    tf, _ = seeded()
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(3)
        x, labels = v1.placeholder(tf.float32, [None, 64]), v1.placeholder(tf.int32, [None])
        w, v = v1.get_variable("w", [64, 256]), v1.get_variable("v", [256, 10])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.nn.relu(x @ w) @ v))
        train = v1.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
        initialize = v1.global_variables_initializer()
    session = v1.Session(graph=graph)
    session.run(initialize)
    feed = {x: noise((128, 64)), labels: integers(10, (128,))}
    return lambda: [session.run([loss, train], feed)[0]]


PROGRAMS = [
    Program("translation", translation, keras_3=True),
    Program("generative_adversarial", generative_adversarial, trains=True, tolerance=1e-3, keras_3=True),
    Program("time_series", time_series, trains=True, tolerance=1e-3, keras_3=True),
    Program("character_recognition", optical_character_recognition, trains=True, tolerance=1e-3, keras_3=True),
    Program("deep_dream", deep_dream, tolerance=1e-3, keras_3=True),
    Program("style_transfer", style_transfer, trains=True, tolerance=1e-3, keras_3=True),
    Program("actor_critic", actor_critic, trains=True, tolerance=1e-3, keras_3=True),
    Program("saved_model", saved_model, keras_3=True),
    Program("graph_session", graph_session, trains=True, tolerance=1e-3, keras_3=True),
]
