# SPDX-License-Identifier: Apache-2.0
"""Networks of torchvision and transformers, with random weights and small inputs, for conformance.py: results, and the
losses of training steps, on the device and on the CPU. inception_v3 is not among them: with inputs as small its statistics
are of four elements, and the CPU's own gradients in float32 and float64 differ by a sixth at the first step."""
import copy

import torch

STEPS = 20
VISION = ["alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "googlenet", "mnasnet0_5", "mobilenet_v2",
          "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnet50", "shufflenet_v2_x0_5", "squeezenet1_1", "swin_t",
          "vgg11"]
LANGUAGE = ["bert", "gpt2", "llama", "vit"]
NETWORKS = {name: name for name in VISION + LANGUAGE}
RESULT_TOLERANCE = 1e-5  # relative to the largest
LOSS_TOLERANCE = 1e-4    # relative, of each step
# In these networks, whose last images are of 2x2 pixels and less, batches are normalised over 16 elements and less, which
# doubles roundings with each step; their first losses must be as near as all.
STEEP_TOLERANCE = 2e-2
STEEP = {"googlenet", "mnasnet0_5", "mobilenet_v2", "regnet_y_400mf", "resnet50", "shufflenet_v2_x0_5"}


def without_chance(model):
    """Dropout and stochastic depth draw other numbers on each device."""
    for part in model.modules():
        if type(part).__name__.startswith(("Dropout", "StochasticDepth")):
            part.p = 0.0
    return model


def vision(name):
    from torchvision import models
    more = {"init_weights": True, "aux_logits": False} if name == "googlenet" else {}
    model = without_chance(models.get_model(name, weights=None, num_classes=10, **more))
    size = 96 if name == "alexnet" else 64
    inputs, labels = torch.randn(4, 3, size, size), torch.randint(0, 10, (4,))
    return model, (inputs, labels), lambda m, x, y: (m(x), y)


def language(name):
    import transformers as t
    common = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    tokens = torch.randint(0, 97, (3, 21))
    if name == "vit":
        config = t.ViTConfig(**common, image_size=32, patch_size=8, num_labels=10)
        return t.ViTForImageClassification(config), (torch.randn(3, 3, 32, 32), torch.randint(0, 10, (3,))), \
            lambda m, x, y: (m(pixel_values=x).logits, y)
    model = {"bert": lambda: t.BertForMaskedLM(t.BertConfig(vocab_size=97, **common)),
             "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=97, n_embd=64, n_layer=2, n_head=4)),
             "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(vocab_size=97, num_key_value_heads=2, **common))}[name]()
    mask = torch.ones_like(tokens)
    mask[1, -6:] = 0
    shift = 0 if name == "bert" else 1
    return model, (tokens, mask), lambda m, x, a: (m(input_ids=x, attention_mask=a).logits[:, :x.shape[1] - shift].flatten(0, 1),
                                                   torch.where(a == 1, x, -100)[:, shift:].flatten())


def make(name):
    """A model, a batch, and what gives (scores, labels) of both."""
    torch.manual_seed(11)
    model, batch, run = (language if name in LANGUAGE else vision)(name)
    return without_chance(model), batch, run


class Training:
    """One model on one device; step() gives the loss of the next step."""

    def __init__(self, model, batch, run, device):
        self.model, self.batch, self.run = copy.deepcopy(model).to(device), [x.to(device) for x in batch], run
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-4, momentum=0.9)

    def scores(self):
        with torch.no_grad():
            return self.run(self.model.eval(), *self.batch)[0].cpu()

    def step(self):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(*self.run(self.model.train(), *self.batch))
        loss.backward()
        # With statistics of few elements gradients are so steep that roundings of one step decide the next one.
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1)
        self.optimizer.step()
        return loss.item()


def compare(name, device, steps, enough):
    """What is wrong, or None, and the steps. enough(): whether there is no time for more."""
    network = make(name)
    here, there = Training(*network, "cpu"), Training(*network, device)
    want, got = here.scores(), there.scores()
    worst = float((got - want).abs().max() / want.abs().max())
    if not worst <= RESULT_TOLERANCE:
        return f"results differ by {worst:.2g} of the largest", 0
    for i in range(steps):
        want, got = here.step(), there.step()
        if not abs(got - want) <= (STEEP_TOLERANCE if name in STEEP and i else LOSS_TOLERANCE) * max(abs(want), 1):
            return f"the loss of step {i + 1} is {got:.6g} instead of {want:.6g}", i
        if enough():
            break
    return None, i + 1
