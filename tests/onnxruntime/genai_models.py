# SPDX-License-Identifier: Apache-2.0
"""Language models with random weights, made by onnxruntime-genai's own model builder.

    genai_models.py FOLDER [tiny] [NAME-PRECISION...]      tiny: what the tests run; qwen2.5-0.5b-int4: for bench/genai.py

FOLDER/NAME-PRECISION is a model folder for onnxruntime_genai.Model; FOLDER/checkpoints has the weights that it was made of.
Large models are made of ones, which take no memory, and filled by bench/genai_fill.py.
Precisions: fp32, int4 (products of rows that are rounded to int8, as the builder has it), int4exact (its accuracy level 0) and
fp16 (as it is built for DirectML, with rotary embeddings outside attention).
"""
import contextlib
import io
import logging
import os
import sys
from pathlib import Path

import onnxruntime_genai
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

# The builder's modules import one another by their bare names.
sys.path.insert(0, os.path.join(os.path.dirname(onnxruntime_genai.__file__), "models"))
from onnxruntime_genai.models.builder import create_model, parse_extra_options  # noqa: E402

TOKENS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
# Weights large enough that what is attended to decides the token.
SMALL = dict(TOKENS, vocab_size=512, hidden_size=64, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=8192, initializer_range=0.15)
CONFIGS = {
    "llama": lambda t: t.LlamaConfig(**SMALL),
    "qwen2": lambda t: t.Qwen2Config(**dict(SMALL, tie_word_embeddings=True, hidden_size=128, num_attention_heads=8)),
    "qwen3": lambda t: t.Qwen3Config(**SMALL, head_dim=32),
    "phi3": lambda t: t.Phi3Config(**dict(SMALL, hidden_size=128, partial_rotary_factor=0.5, max_position_embeddings=4096,
                                          original_max_position_embeddings=4096)),
    "gemma2": lambda t: t.Gemma2Config(**SMALL, head_dim=32, query_pre_attn_scalar=32, sliding_window=64,
                                       tie_word_embeddings=False),
    "qwen2.5-0.5b": lambda t: t.Qwen2Config(
        **TOKENS, vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
        num_key_value_heads=2, max_position_embeddings=32768, rope_theta=1e6, rms_norm_eps=1e-6, tie_word_embeddings=True),
    "llama-3.2-1b": lambda t: t.LlamaConfig(
        **TOKENS, vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
        num_key_value_heads=8, head_dim=64, max_position_embeddings=131072, rope_theta=5e5, rms_norm_eps=1e-5,
        tie_word_embeddings=True, rope_scaling={"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                "original_max_position_embeddings": 8192, "rope_type": "llama3"}),
    "llama-3.2-3b": lambda t: t.LlamaConfig(
        **TOKENS, vocab_size=128256, hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24,
        num_key_value_heads=8, head_dim=128, max_position_embeddings=131072, rope_theta=5e5, rms_norm_eps=1e-5,
        tie_word_embeddings=True, rope_scaling={"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                "original_max_position_embeddings": 8192, "rope_type": "llama3"}),
}
# Builder's precision, execution provider, further options.
PRECISIONS = {"fp32": ("fp32", "cpu", []), "int4": ("int4", "cpu", []), "int4exact": ("int4", "cpu", ["accuracy_level=0"]),
              "fp16": ("fp16", "dml", []), "fp16last": ("fp16", "dml", ["prune_lm_head=true"])}
TINY = ["llama-fp32", "llama-int4", "llama-int4exact", "llama-fp16", "llama-fp16last", "qwen2-fp32", "qwen2-int4exact", "qwen3-fp32",
        "phi3-fp32", "gemma2-fp32"]


def save_tokenizer(folder):
    """Bytes as tokens, which suffices for what the builder and genai want to read."""
    words = {"<s>": 0, "</s>": 1, "<pad>": 2}
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        words[letter] = len(words)
    tokenizer = Tokenizer(models.BPE(words, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>",
                                         pad_token="<pad>").save_pretrained(folder)


def hollow_model(name):
    """All weights 1, each matrix a single number in memory."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(CONFIGS[name](transformers), dtype=torch.float32)
    for module in model.modules():
        for key, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, key, torch.nn.Parameter(torch.ones(()).expand(parameter.shape), requires_grad=False))
    return model


def save_checkpoint(name, folder, hollow):
    save_tokenizer(folder)
    if hollow:
        config = CONFIGS[name](transformers)
        config.architectures = [hollow_model(name).__class__.__name__]
        config.save_pretrained(folder)
        return
    torch.manual_seed(1)
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[name](transformers), dtype=torch.float32)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            # As transformers makes them biases are 0 and scales of norms 1.
            if key.endswith("bias"):
                parameter.normal_(0, 0.2)
            elif "norm" in key:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)


def make(folder, name, precision):
    hollow = not any(tiny.startswith(name + "-") for tiny in TINY)
    checkpoint = folder / "checkpoints" / name
    if not (checkpoint / "config.json").exists():
        save_checkpoint(name, checkpoint, hollow)
    if hollow:
        transformers.AutoModelForCausalLM.from_pretrained = lambda *_, **__: hollow_model(name)
    as_precision, provider, options = PRECISIONS[precision]
    out = folder / f"{name}-{precision}"
    common = [name, str(checkpoint), str(out), as_precision, provider, str(folder / "cache")]
    create_model(*common, **parse_extra_options(*common, options))


def main():
    folder = Path(sys.argv[1])
    transformers.utils.logging.disable_progress_bar()
    for word in (TINY if "tiny" in sys.argv else []) + [word for word in sys.argv[2:] if word != "tiny"]:
        name, precision = word.rsplit("-", 1)
        if not (folder / word / "genai_config.json").exists():
            # The builder tells of each tensor, in three ways.
            logging.disable()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                make(folder, name, precision)
    return 0


if __name__ == "__main__":
    sys.exit(main())
