"""Text generation with KerasHub: its models, small and with random weights, each token by itself until the length is reached.

bench/generate compares engines on WORKLOADS, where weights are the same for every engine: MODEL, and MODEL_xla, whose function
is marked jit_compile=True.  bench/shipped has rows of its own (keras_hub.py).
"""
import numpy as np

from bench.models.weights import fill
from bench.models.workload import Workload, integers

PROMPT, LENGTH, VOCABULARY = 16, 64, 1000
MARKED = "_xla"


def prompts(prefix: str = "", rows: int = 2) -> dict:
    tokens = np.zeros((rows, LENGTH), np.int32)
    tokens[:, :PROMPT] = integers(VOCABULARY - 10, (rows, PROMPT)) + 5
    mask = np.zeros((rows, LENGTH), np.bool_)
    mask[:, :PROMPT] = True
    return {f"{prefix}token_ids": tokens, f"{prefix}padding_mask": mask}


def generation(make_model, sampler: str = "greedy", same_weights: bool = False, **compiled):
    """All tokens from the prompt on: a loop that no stop token ends."""
    def make():
        import keras
        keras.utils.set_random_seed(3)
        model = make_model()
        if same_weights:
            fill(model)
        model.compile(sampler=sampler, **compiled)
        generate = model.make_generate_function()
        translates = "encoder_token_ids" in model.backbone.input
        inputs = prompts("encoder_") | prompts("decoder_") if translates else prompts()
        result = "decoder_token_ids" if translates else "token_ids"
        return lambda: generate(inputs, stop_token_ids=None)[result]

    return make


def gpt2():
    import keras_hub
    backbone = keras_hub.models.GPT2Backbone(VOCABULARY, 4, 4, 256, 1024, max_sequence_length=LENGTH)
    return keras_hub.models.GPT2CausalLM(backbone=backbone, preprocessor=None)


def gemma():
    import keras_hub
    backbone = keras_hub.models.GemmaBackbone(VOCABULARY, 3, 4, 2, 256, 1024, head_dim=64)
    return keras_hub.models.GemmaCausalLM(backbone=backbone, preprocessor=None)


def llama():
    import keras_hub
    backbone = keras_hub.models.LlamaBackbone(VOCABULARY, 3, 4, 256, 768, 2)
    return keras_hub.models.LlamaCausalLM(backbone=backbone, preprocessor=None)


def mistral():
    import keras_hub
    backbone = keras_hub.models.MistralBackbone(VOCABULARY, 3, 4, 256, 768, 2)
    return keras_hub.models.MistralCausalLM(backbone=backbone, preprocessor=None)


def opt():
    import keras_hub
    backbone = keras_hub.models.OPTBackbone(VOCABULARY, 3, 4, 256, 1024, max_sequence_length=LENGTH)
    return keras_hub.models.OPTCausalLM(backbone=backbone, preprocessor=None)


def bloom():
    import keras_hub
    backbone = keras_hub.models.BloomBackbone(VOCABULARY, 3, 4, 256, 1024)
    return keras_hub.models.BloomCausalLM(backbone=backbone, preprocessor=None)


def gpt_neox():
    import keras_hub
    backbone = keras_hub.models.GPTNeoXBackbone(VOCABULARY, 3, 4, 256, 1024, max_sequence_length=LENGTH)
    return keras_hub.models.GPTNeoXCausalLM(backbone=backbone, preprocessor=None)


def bart():
    import keras_hub
    backbone = keras_hub.models.BartBackbone(VOCABULARY, 3, 4, 256, 1024, max_sequence_length=LENGTH)
    return keras_hub.models.BartSeq2SeqLM(backbone=backbone, preprocessor=None)


MODELS = {"gpt2": gpt2, "gemma": gemma, "llama": llama, "mistral": mistral, "opt": opt, "bloom": bloom, "gpt_neox": gpt_neox,
          "bart": bart}
WORKLOADS = {name + mark: Workload(name + mark, kind="program", inputs=list, tolerance=0.0,
                                   program=generation(make, same_weights=True, jit_compile=bool(mark)))
             for name, make in MODELS.items() for mark in ("", MARKED)}
