"""A loop of proximal policy optimization, as its example has it, on an environment of two lines."""
import numpy as np

from bench.models.workload import noise


def ppo(epochs, callbacks, scale=1):
    import keras
    from keras import layers
    import tensorflow as tf
    keras.utils.set_random_seed(5)

    def network(outputs):
        return keras.Sequential([keras.Input((4,)), layers.Dense(64, activation="tanh"),
                                 layers.Dense(64, activation="tanh"), layers.Dense(outputs)])

    actor, critic = network(2), network(1)
    policy_optimizer, value_optimizer = keras.optimizers.Adam(3e-4), keras.optimizers.Adam(1e-3)
    seeds = keras.random.SeedGenerator(1337)

    def log_probability(logits, action):
        return tf.reduce_sum(tf.one_hot(action, 2) * tf.nn.log_softmax(logits), axis=1)

    @tf.function
    def sample(observation):
        logits = actor(observation)
        return logits, tf.squeeze(keras.random.categorical(logits, 1, seed=seeds), axis=1)

    @tf.function
    def train_policy(observations, actions, old, advantages):
        with tf.GradientTape() as tape:
            ratio = tf.exp(log_probability(actor(observations), actions) - old)
            least = tf.where(advantages > 0, 1.2 * advantages, 0.8 * advantages)
            loss = -tf.reduce_mean(tf.minimum(ratio * advantages, least))
        gradients = tape.gradient(loss, actor.trainable_variables)
        policy_optimizer.apply_gradients(zip(gradients, actor.trainable_variables))
        return tf.reduce_mean(old - log_probability(actor(observations), actions))

    @tf.function
    def train_value(observations, returns):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((returns - critic(observations)) ** 2)
        gradients = tape.gradient(loss, critic.trainable_variables)
        value_optimizer.apply_gradients(zip(gradients, critic.trainable_variables))
        return loss

    turn = noise((4, 4), 3) / 2
    for epoch in range(epochs):
        for callback in callbacks:
            callback.on_epoch_begin(epoch)
        observation, seen = noise((1, 4), epoch), {"o": [], "a": [], "p": [], "r": []}
        for _ in range(400 * scale):
            logits, action = sample(observation)
            seen["o"].append(observation[0])
            seen["a"].append(int(action[0]))
            seen["p"].append(float(log_probability(logits, action)[0]))
            seen["r"].append(float(observation[0, 0] > 0) * seen["a"][-1])
            observation = np.tanh(observation @ turn + 0.1 * seen["a"][-1]).astype(np.float32)
        observations, actions = np.array(seen["o"], np.float32), np.array(seen["a"], np.int32)
        returns = np.array(seen["r"], np.float32)[::-1].cumsum()[::-1].astype(np.float32) / (400 * scale)
        advantages = (returns - returns.mean()) / (returns.std() + 1e-8)
        for _ in range(80):
            train_policy(observations, actions, np.array(seen["p"], np.float32), advantages)
        for _ in range(80):
            loss = train_value(observations, returns[:, None])
        for callback in callbacks:
            callback.on_epoch_end(epoch, {"loss": float(loss)})


SCRIPTS = {s.__name__: s for s in (ppo,)}
