"""Training scripts as people write them: what bench/epochs runs.  Each is a function of one of these files' SCRIPTS:

    SCRIPTS["mnist_convnet"](epochs=5, callbacks=[...])

It makes its data (synthetic, fixed seeds, nothing is downloaded), builds a model, and trains it with the batch size of
the example that it follows: the classics of keras.io/examples, the first pages of tutorials.  A script that has a loop
of its own calls the callbacks' on_epoch_begin and on_epoch_end.  An epoch takes stock TensorFlow about 1 to 4 seconds:
a tenth of the samples that the original has, or less.  `scale` multiplies their number, for what a first epoch costs a
user.
"""
from bench.training_scripts import generative, images, reinforcement, text, vectors

SCRIPTS = {name: script for module in (images, text, generative, vectors, reinforcement)
           for name, script in module.SCRIPTS.items()}
