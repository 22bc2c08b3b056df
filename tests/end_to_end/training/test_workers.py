"""docs/guide/workers.md: two workers of MultiWorkerMirroredStrategy and a tf.data service on loopback, with and without Tektite."""
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.slow

WORKER = """
import json, os
import numpy as np
import tensorflow as tf
import tektite
strategy = tf.distribute.MultiWorkerMirroredStrategy()
tf.keras.utils.set_random_seed(1)
x = np.random.default_rng(1).normal(size=(32, 16)).astype(np.float32)
with strategy.scope():
    w, b = tf.Variable(tf.random.stateless_normal([16, 4], [1, 2])), tf.Variable(tf.zeros([4]))
data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(16))
@tf.function
def train_step(batch):
    def replica(batch):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.nn.softmax(tf.tanh(batch @ w + b) * 2.0)[:, 0], global_batch_size=16)
        context = tf.distribute.get_replica_context()
        for variable, gradient in zip([w, b], context.all_reduce("sum", tape.gradient(loss, [w, b]))):
            variable.assign_sub(0.5 * gradient)
        return loss
    return strategy.reduce("sum", strategy.run(replica, (batch,)), axis=None)
losses = [float(train_step(batch)) for _ in range(4) for batch in data]
print("REPORT " + json.dumps({"losses": losses, "w": [w.numpy().tolist(), b.numpy().tolist()], "stats": tektite.stats()}))
"""

SERVICE = """
import json
import tensorflow as tf
import tektite
dispatcher = tf.data.experimental.service.DispatchServer(tf.data.experimental.service.DispatcherConfig(port=0))
address = dispatcher.target.split("://")[1]
worker = tf.data.experimental.service.WorkerServer(
    tf.data.experimental.service.WorkerConfig(dispatcher_address=address))
data = tf.data.Dataset.range(64).batch(16).map(lambda x: tf.nn.softmax(tf.exp(tf.cast(x, tf.float32) * 0.1) * 0.5 + 1.0))
data = data.apply(tf.data.experimental.service.distribute("parallel_epochs", dispatcher.target))
rows = sorted(batch.numpy().tolist() for batch in data)
print("REPORT " + json.dumps({"rows": rows, "stats": tektite.stats()}))
"""


def start(program: str, switch: str, **environment: str) -> subprocess.Popen:
    env = {**os.environ, "TEKTITE": switch, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "",
           "TEKTITE_FLAGS": "--min_cluster_cost=0 --compile=sync --compare=false", **environment}
    return subprocess.Popen([sys.executable, "-c", program], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def report_of(process: subprocess.Popen) -> dict:
    try:
        said, errors = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, errors[-3000:]
    return json.loads(next(line for line in said.splitlines() if line.startswith("REPORT ")).removeprefix("REPORT "))


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def train(switch: str) -> list[dict]:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    workers = [start(WORKER, switch, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": "worker", "index": i}}))
               for i in range(2)]
    try:
        return [report_of(worker) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()


def test_two_workers_train_as_without():
    plain, compiled = train("0"), train("1")
    for one, other in zip(plain, compiled):
        assert len(one["losses"]) == 8 and one["losses"][-1] < one["losses"][0]
        np.testing.assert_allclose(one["losses"], other["losses"], rtol=2e-5)
        for ours, theirs in zip(one["w"], other["w"]):
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
        assert other["stats"]["host"]["runs"] > 0 and other["stats"]["host"]["direct_runs"] == 0
    assert compiled[0]["w"] == compiled[1]["w"]  # replicas stay equal


def test_a_data_service_maps_as_without():
    plain, compiled = (report_of(start(SERVICE, switch)) for switch in ("0", "1"))
    np.testing.assert_allclose(plain["rows"], compiled["rows"], rtol=2e-5)
    assert compiled["stats"]["host"]["clusters_placed"] > 0
