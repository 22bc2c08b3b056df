"""KerasHub: text generation with each family of models, a classifier, an encoder of images and one of speech."""
import numpy as np

from bench.models.workload import integers, noise
from bench.shipped_programs.generation import LENGTH, VOCABULARY, gemma, generation, gpt2, llama, opt, prompts
from bench.shipped_programs.program import Program

def classifier():
    import keras
    import keras_hub
    keras.utils.set_random_seed(3)
    backbone = keras_hub.models.BertBackbone(VOCABULARY, 4, 4, 256, 1024, max_sequence_length=128)
    model = keras_hub.models.BertTextClassifier(backbone=backbone, num_classes=3, preprocessor=None)
    inputs = {"token_ids": integers(VOCABULARY, (4, 128)), "segment_ids": np.zeros((4, 128), np.int32),
              "padding_mask": np.arange(128)[None] < np.array([[128], [90], [17], [64]])}
    return lambda: model.predict(inputs, verbose=0)


def images():
    import keras
    import keras_hub
    keras.utils.set_random_seed(3)
    backbone = keras_hub.models.ViTBackbone((96, 96, 3), (16, 16), 4, 4, 192, 768)
    pictures = noise((4, 96, 96, 3))
    return lambda: backbone.predict(pictures, verbose=0)


def speech():
    import keras
    import keras_hub
    keras.utils.set_random_seed(3)
    backbone = keras_hub.models.WhisperBackbone(VOCABULARY, 2, 4, 128, 512, max_encoder_sequence_length=200,
                                                max_decoder_sequence_length=LENGTH)
    tokens = prompts()
    inputs = {"encoder_features": noise((2, 200, 80)), "decoder_token_ids": tokens["token_ids"],
              "decoder_padding_mask": tokens["padding_mask"]}
    return lambda: backbone.predict(inputs, verbose=0)


PROGRAMS = [
    Program("gpt2_generate", generation(gpt2), keras_3=True),
    Program("gemma_generate", generation(gemma), keras_3=True),
    Program("llama_generate_topk", generation(llama, "top_k"), trains=True, keras_3=True),
    Program("opt_generate_xla", generation(opt, jit_compile=True), keras_3=True),
    Program("bert_classifier", classifier, keras_3=True),
    Program("vit_images", images, keras_3=True),
    Program("whisper", speech, keras_3=True),
]
