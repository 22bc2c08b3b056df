"""TensorFlow's Model Garden, Agents and Recommenders."""
import numpy as np

from bench.models.workload import integers, noise
from bench.shipped_programs.program import Program


def seeded():
    import tensorflow as tf
    tf.keras.utils.set_random_seed(3)
    return tf


def inference(model, *inputs):
    tf = seeded()
    function = tf.function(lambda *x: model(*x, training=False))
    constants = [tf.nest.map_structure(tf.constant, x) for x in inputs]
    return lambda: function(*constants)


def movinet():
    seeded()
    from official.projects.movinet.modeling import movinet, movinet_model
    backbone = movinet.Movinet("a0", causal=False)
    model = movinet_model.MovinetClassifier(backbone, num_classes=60)
    return inference(model, {"image": noise((1, 8, 96, 96, 3))})


def retinanet():
    seeded()
    from official.vision.configs import retinanet as configs
    from official.vision.modeling import factory
    import tensorflow as tf
    config = configs.RetinaNet(num_classes=10, input_size=[128, 128, 3])
    config.detection_generator.pre_nms_top_k = 200
    model = factory.build_retinanet(tf.keras.layers.InputSpec(shape=[1, 128, 128, 3]), config)
    return inference(model, noise((1, 128, 128, 3)), np.array([[128, 128]], np.int32))


def resnet_training():
    tf = seeded()
    from official.vision.modeling import backbones, classification_model
    backbone = backbones.ResNet(18, input_specs=tf.keras.layers.InputSpec(shape=[None, 64, 64, 3]))
    model = classification_model.ClassificationModel(backbone, num_classes=10,
                                                     input_specs=tf.keras.layers.InputSpec(shape=[None, 64, 64, 3]))
    model.compile(tf.keras.optimizers.SGD(0.01), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = tf.constant(noise((4, 64, 64, 3))), tf.constant(integers(10, (4,)))
    return lambda: model.train_on_batch(x, y)


def bert_training():
    tf = seeded()
    from official.nlp.modeling import models, networks
    encoder = networks.BertEncoderV2(1000, hidden_size=128, num_layers=2, num_attention_heads=4, inner_dim=512,
                                     max_sequence_length=64)
    model = models.BertClassifier(encoder, num_classes=2)
    optimizer = tf.keras.optimizers.Adam(1e-4)
    inputs = {"input_word_ids": tf.constant(integers(1000, (8, 64))), "input_mask": tf.ones([8, 64], tf.int32),
              "input_type_ids": tf.zeros([8, 64], tf.int32)}
    labels = tf.constant(integers(2, (8,)))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            logits = model(inputs, training=False)  # without dropout, whose numbers have a state
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return step


def transformer_translation():
    seeded()
    from official.nlp.modeling import models
    model = models.Seq2SeqTransformer(
        vocab_size=500, embedding_width=128, dropout_rate=0.0, padded_decode=False, decode_max_length=24,
        extra_decode_length=8, beam_size=3,
        encoder_layer=models.TransformerEncoder(num_layers=2, num_attention_heads=4, intermediate_size=256),
        decoder_layer=models.TransformerDecoder(num_layers=2, num_attention_heads=4, intermediate_size=256))
    return inference(model, {"inputs": integers(490, (2, 12)) + 2})


def soft_actor_critic():
    tf = seeded()
    from tf_agents.agents.ddpg import critic_network
    from tf_agents.agents.sac import sac_agent
    from tf_agents.networks import actor_distribution_network
    from tf_agents.specs import tensor_spec
    from tf_agents.trajectories import time_step, trajectory
    observation = tensor_spec.TensorSpec([17], tf.float32)
    action = tensor_spec.BoundedTensorSpec([6], tf.float32, -1, 1)
    steps = time_step.time_step_spec(observation)
    agent = sac_agent.SacAgent(
        steps, action,
        critic_network=critic_network.CriticNetwork((observation, action), joint_fc_layer_params=(256, 256)),
        actor_network=actor_distribution_network.ActorDistributionNetwork(observation, action, fc_layer_params=(256, 256)),
        actor_optimizer=tf.keras.optimizers.Adam(3e-4), critic_optimizer=tf.keras.optimizers.Adam(3e-4),
        alpha_optimizer=tf.keras.optimizers.Adam(3e-4), target_update_tau=0.005, gamma=0.99)
    agent.initialize()
    shape = [128, 2]
    experience = trajectory.Trajectory(
        step_type=tf.ones(shape, tf.int32), observation=tf.constant(noise((*shape, 17))),
        action=tf.constant(noise((*shape, 6), low=-1, high=1)), policy_info=(), next_step_type=tf.ones(shape, tf.int32),
        reward=tf.constant(noise(shape)), discount=tf.ones(shape))
    train = tf.function(agent.train)
    return lambda: train(experience).loss


def deep_q_network():
    tf = seeded()
    from tf_agents.agents.dqn import dqn_agent
    from tf_agents.networks import q_network
    from tf_agents.specs import tensor_spec
    from tf_agents.trajectories import time_step, trajectory
    observation = tensor_spec.TensorSpec([84, 84, 4], tf.float32)
    action = tensor_spec.BoundedTensorSpec([], tf.int32, 0, 5)
    network = q_network.QNetwork(observation, action, conv_layer_params=((16, 8, 4), (32, 4, 2)), fc_layer_params=(256,))
    agent = dqn_agent.DqnAgent(time_step.time_step_spec(observation), action, q_network=network,
                               optimizer=tf.keras.optimizers.Adam(1e-4), target_update_period=10)
    agent.initialize()
    shape = [8, 2]
    experience = trajectory.Trajectory(
        step_type=tf.ones(shape, tf.int32), observation=tf.constant(noise((*shape, 84, 84, 4))),
        action=tf.constant(integers(6, shape)), policy_info=(), next_step_type=tf.ones(shape, tf.int32),
        reward=tf.constant(noise(shape)), discount=tf.ones(shape))
    train = tf.function(agent.train)
    return lambda: train(experience).loss


def two_towers():
    tf = seeded()
    import tensorflow_recommenders as tfrs

    class Retrieval(tfrs.Model):
        def __init__(self):
            super().__init__()
            tower = lambda size: tf.keras.Sequential([tf.keras.layers.Embedding(size, 32), tf.keras.layers.Dense(32)])
            self.users, self.items, self.task = tower(5000), tower(2000), tfrs.tasks.Retrieval()

        def compute_loss(self, features, training=False):
            return self.task(self.users(features["user"]), self.items(features["item"]))

    model = Retrieval()
    model.compile(tf.keras.optimizers.Adagrad(0.1))
    batches = tf.data.Dataset.from_tensors({"user": integers(5000, (512,)), "item": integers(2000, (512,), 5)}).repeat(4)
    return lambda: model.fit(batches, verbose=0).history["loss"]


def deep_and_cross():
    tf = seeded()
    import tensorflow_recommenders as tfrs
    embeddings = [tf.keras.layers.Embedding(1000, 16) for _ in range(8)]
    cross, deep = tfrs.layers.dcn.Cross(projection_dim=32), [tf.keras.layers.Dense(64, "relu"), tf.keras.layers.Dense(1)]

    @tf.function
    def rank(ids):
        x = tf.concat([embedding(ids[:, i]) for i, embedding in enumerate(embeddings)], 1)
        x = cross(x)
        for layer in deep:
            x = layer(x)
        return x

    ids = tf.constant(integers(1000, (256, 8)))
    return lambda: rank(ids)


PROGRAMS = [
    Program("movinet", movinet),
    Program("retinanet", retinanet),
    Program("garden_resnet_training", resnet_training, trains=True, tolerance=1e-3),
    Program("garden_bert_training", bert_training, trains=True, tolerance=1e-4),
    Program("translation_beam_search", transformer_translation),
    Program("soft_actor_critic", soft_actor_critic, trains=True, tolerance=1e-3),
    Program("deep_q_network", deep_q_network, trains=True, tolerance=1e-3),
    Program("two_towers", two_towers, trains=True, tolerance=1e-4),
    Program("deep_and_cross", deep_and_cross),
]
