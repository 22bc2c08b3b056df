"""TensorFlow Probability and GPflow: samplers, variational inference, state spaces, flows, Gaussian processes."""
import numpy as np

from bench.models.workload import noise
from bench.shipped_programs.program import Program


def logistic_data(rows: int = 500, columns: int = 10):
    x = noise((rows, columns))
    return x, (x @ noise((columns,), 3) + noise((rows,), 4) > 0).astype(np.float32)


def hmc():
    import tensorflow as tf
    import tensorflow_probability as tfp
    x, y = logistic_data()

    def log_prob(weights):
        prior = tfp.distributions.Normal(0.0, 1.0).log_prob(weights)
        likelihood = tfp.distributions.Bernoulli(logits=tf.linalg.matvec(x, weights)).log_prob(y)
        return tf.reduce_sum(prior, -1) + tf.reduce_sum(likelihood, -1)

    kernel = tfp.mcmc.HamiltonianMonteCarlo(log_prob, step_size=0.02, num_leapfrog_steps=5)

    @tf.function
    def sample():
        return tfp.mcmc.sample_chain(30, num_burnin_steps=10, current_state=tf.zeros([10]), kernel=kernel,
                                     trace_fn=lambda _, results: results.is_accepted, seed=[1, 2])

    return lambda: sample()[0]


def metropolis():
    import tensorflow as tf
    import tensorflow_probability as tfp
    target = tfp.distributions.MultivariateNormalTriL(tf.zeros([6]), tf.linalg.cholesky(tf.eye(6) + 0.3))
    kernel = tfp.mcmc.RandomWalkMetropolis(target.log_prob)

    @tf.function
    def sample():
        return tfp.mcmc.sample_chain(100, current_state=tf.zeros([64, 6]), kernel=kernel, trace_fn=None, seed=[1, 2])

    return sample


def variational():
    import tensorflow as tf
    import tensorflow_probability as tfp
    x, y = logistic_data()
    location, scale = tf.Variable(tf.zeros([10])), tf.Variable(tf.fill([10], -2.0))
    optimizer = tf.keras.optimizers.Adam(0.01)

    @tf.function
    def step(seed):
        with tf.GradientTape() as tape:
            posterior = tfp.distributions.MultivariateNormalDiag(location, tf.nn.softplus(scale))
            weights = posterior.sample(32, seed=seed)
            logits = tf.linalg.matmul(weights, x, transpose_b=True)
            likelihood = tf.reduce_sum(tfp.distributions.Bernoulli(logits=logits).log_prob(y), -1)
            prior = tf.reduce_sum(tfp.distributions.Normal(0.0, 1.0).log_prob(weights), -1)
            loss = -tf.reduce_mean(likelihood + prior - posterior.log_prob(weights))
        optimizer.apply_gradients(zip(tape.gradient(loss, [location, scale]), [location, scale]))
        return loss

    seeds = iter(range(10**9))
    return lambda: step(tf.constant([next(seeds), 5]))


def bayesian_cnn():
    import tensorflow as tf
    import tensorflow_probability as tfp
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential([
        tfp.layers.Convolution2DFlipout(8, 5, padding="same", activation="relu"), tf.keras.layers.MaxPooling2D(),
        tfp.layers.Convolution2DFlipout(16, 5, padding="same", activation="relu"), tf.keras.layers.GlobalAveragePooling2D(),
        tfp.layers.DenseFlipout(10)])
    images, labels = noise((16, 28, 28, 1)), np.arange(16) % 10
    model.build(images.shape)
    optimizer = tf.keras.optimizers.Adam(1e-3)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images))
            loss = tf.reduce_mean(cross_entropy) + tf.add_n(model.losses) / 1000
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return step


def state_space():
    import tensorflow as tf
    import tensorflow_probability as tfp
    series = np.cumsum(noise((120,))).astype(np.float32)
    trend = tfp.sts.LocalLinearTrend(observed_time_series=series)
    seasonal = tfp.sts.Seasonal(num_seasons=7, observed_time_series=series)
    model = tfp.sts.Sum([trend, seasonal], observed_time_series=series)
    values = [tf.constant(0.1 + 0.05 * i) for i in range(len(model.parameters))]

    @tf.function
    def log_prob(*values):
        return model.make_state_space_model(120, list(values)).log_prob(series[:, None])

    return lambda: log_prob(*values)


def hidden_markov():
    import tensorflow as tf
    import tensorflow_probability as tfp
    observed = tf.constant(noise((8, 100)))

    @tf.function
    def posterior(means):
        model = tfp.distributions.HiddenMarkovModel(
            tfp.distributions.Categorical(logits=tf.zeros([5])),
            tfp.distributions.Categorical(logits=3 * tf.eye(5)),
            tfp.distributions.Normal(means, 0.5), num_steps=100)
        return model.log_prob(observed), model.posterior_marginals(observed).logits, model.posterior_mode(observed)

    means = tf.linspace(-2.0, 2.0, 5)
    return lambda: posterior(means)


def flow():
    import tensorflow as tf
    import tensorflow_probability as tfp
    tf.keras.utils.set_random_seed(3)
    bijectors = []
    for _ in range(3):
        network = tfp.bijectors.AutoregressiveNetwork(params=2, hidden_units=[64, 64], activation="relu")
        bijectors += [tfp.bijectors.MaskedAutoregressiveFlow(network), tfp.bijectors.Permute([1, 0, 3, 2])]
    density = tfp.distributions.TransformedDistribution(
        tfp.distributions.Sample(tfp.distributions.Normal(0.0, 1.0), [4]), tfp.bijectors.Chain(bijectors[:-1]))
    x, optimizer = tf.constant(noise((128, 4))), tf.keras.optimizers.Adam(1e-3)
    density.log_prob(x)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(density.log_prob(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, density.trainable_variables), density.trainable_variables))
        return loss

    return step


def sparse_gaussian_process():
    import gpflow
    import tensorflow as tf
    x = noise((400, 1), low=-3, high=3).astype(np.float64)
    y = np.sin(3 * x) + 0.1 * noise((400, 1), 2)
    model = gpflow.models.SVGP(gpflow.kernels.SquaredExponential(), gpflow.likelihoods.Gaussian(), x[:30].copy(),
                               num_data=400)
    loss, optimizer = model.training_loss_closure((x, y), compile=False), tf.keras.optimizers.Adam(0.01)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss()
        optimizer.apply_gradients(zip(tape.gradient(value, model.trainable_variables), model.trainable_variables))
        return value

    return step


def gaussian_process():
    import gpflow
    import tensorflow as tf
    x = noise((150, 3)).astype(np.float64)
    y = np.sin(x.sum(1, keepdims=True)) + 0.1 * noise((150, 1), 2)
    model = gpflow.models.GPR((x, y), gpflow.kernels.Matern52(lengthscales=[1.0, 1.0, 1.0]), noise_variance=0.1)
    new = tf.constant(noise((200, 3), 5).astype(np.float64))

    @tf.function
    def predict(new):
        return model.predict_f(new)

    return lambda: predict(new)


PROGRAMS = [
    Program("hmc", hmc, tolerance=1e-3),
    Program("metropolis", metropolis, tolerance=1e-3),
    Program("variational_logistic", variational, trains=True, tolerance=1e-3),
    Program("bayesian_cnn", bayesian_cnn, trains=True, tolerance=1e-2),
    Program("state_space", state_space, tolerance=1e-4),
    Program("hidden_markov", hidden_markov, tolerance=1e-4),
    Program("autoregressive_flow", flow, trains=True, tolerance=1e-3),
    Program("sparse_gaussian_process", sparse_gaussian_process, trains=True, tolerance=1e-6),
    Program("gaussian_process", gaussian_process, tolerance=1e-6),
]
