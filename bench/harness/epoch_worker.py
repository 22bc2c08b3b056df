"""One training script in one process, an epoch at a time; see epochs.py.

    python -m bench.harness.epoch_worker mnist_convnet --epochs 5 --threads 2

Each epoch begins when a line comes on stdin.  Its answer on stdout is {"seconds": s, "cpu": s, "loss": x, "others": n},
`others` the CPUs that other programs used meanwhile; then {"stats": {...} or null, "rss_mb": n}.  A failure is
{"error": "..."}.
"""
import argparse
import json
import os
import sys
import time

import keras

from bench.harness.machine import OtherLoad
from bench.harness.runners import limit_cpus
from bench.harness.tensorflow_runner import limit_threads
from bench.harness.worker import brief, peak_rss_mb, take_stdout, tektite_stats
from bench.training_scripts import SCRIPTS


class Turns(keras.callbacks.Callback):
    """Waits for a line before each epoch, and answers with the epoch's figures."""

    def __init__(self, answers):
        super().__init__()
        self.answers, self.load, self.began, self.used = answers, OtherLoad(), 0.0, 0.0

    def on_epoch_begin(self, epoch, logs=None):
        if not sys.stdin.readline():
            os._exit(0)
        self.load.__enter__()
        self.began, self.used = time.perf_counter(), time.process_time()

    def on_epoch_end(self, epoch, logs=None):
        seconds, used = time.perf_counter() - self.began, time.process_time() - self.used
        self.load.__exit__()
        answer = {"seconds": seconds, "cpu": used, "loss": float((logs or {}).get("loss", float("nan"))), "others": self.load.cpus}
        print(json.dumps(answer), file=self.answers)


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs one training script; see the source.")
    parser.add_argument("script", choices=SCRIPTS)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--scale", type=int, default=1)
    args, answers = parser.parse_args(), take_stdout()
    try:
        limit_cpus(args.threads)
        limit_threads(args.threads)
        keras.utils.set_random_seed(7)
        SCRIPTS[args.script](epochs=args.epochs, callbacks=[Turns(answers)], scale=args.scale)
        print(json.dumps({"stats": tektite_stats(), "rss_mb": peak_rss_mb()}), file=answers)
    except Exception as error:  # whatever a script throws is an answer of this run
        print(json.dumps({"error": brief(error)}), file=answers)
        raise
    finally:
        answers.flush()
    os._exit(0)  # TensorFlow's own teardown is slow, and of no interest


if __name__ == "__main__":
    main()
