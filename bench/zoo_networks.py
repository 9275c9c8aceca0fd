# SPDX-License-Identifier: Apache-2.0
"""The networks of bench/zoo.py, with random weights: made from the classes and configurations of torchvision, transformers and
diffusers, without anything that is downloaded.

NETWORKS maps a name to a function of the batch that returns a module, whose forward takes and returns tensors only, and its
inputs. make() gives both with the weights that all programs use.
"""
import importlib.util

SEED = 1
NETWORKS = {}   # name: (libraries, function of the batch)
DYNAMO = set()  # those that only torch.onnx.export(dynamo=True) exports


def network(name, *libraries, dynamo=False):
    def add(function):
        NETWORKS[name] = (libraries, function)
        if dynamo:
            DYNAMO.add(name)
        return function
    return add


def missing(name):
    """Returns the libraries of the network that cannot be imported."""
    return [library for library in NETWORKS[name][0] if not importlib.util.find_spec(library)]


def call(model, function):
    """Returns a module that calls function(model, *inputs)."""
    import torch

    class Call(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return function(self.model, *inputs)
    return Call()


def normal(*sizes):
    import torch
    return torch.randn(*sizes)


def tokens(batch, count, words):
    import torch
    return torch.randint(1, words, (batch, count))


# ---- torchvision ----

IMAGES = {"resnet50": ("resnet50", 224), "densenet121": ("densenet121", 224), "regnet_y_1_6gf": ("regnet_y_1_6gf", 224),
          "resnext50": ("resnext50_32x4d", 224), "shufflenet_v2": ("shufflenet_v2_x1_0", 224),
          "efficientnet_b0": ("efficientnet_b0", 224), "mobilenet_v2": ("mobilenet_v2", 224),
          "mobilenet_v3_large": ("mobilenet_v3_large", 224), "squeezenet1_1": ("squeezenet1_1", 224), "vgg16": ("vgg16", 224),
          "vit_b_16": ("vit_b_16", 224), "swin_t": ("swin_t", 224), "swin_v2_t": ("swin_v2_t", 256),
          "convnext_tiny": ("convnext_tiny", 224), "maxvit_t": ("maxvit_t", 224),
          "deeplabv3_resnet50": ("deeplabv3_resnet50", 520), "lraspp_mobilenet_v3": ("lraspp_mobilenet_v3_large", 520)}


def torchvision_image(name, size):
    def make(batch):
        from torchvision import models
        more = {"weights_backbone": None} if size == 520 else {}
        model = models.get_model(name, weights=None, **more)
        take = (lambda m, x: m(x)["out"]) if size == 520 else (lambda m, x: m(x))
        return call(model, take), (normal(batch, 3, size, size),)
    return make


for short, (full, pixels) in IMAGES.items():
    NETWORKS[short] = (("torchvision",), torchvision_image(full, pixels))


@network("inception_v3", "torchvision")
def inception_v3(batch):
    from torchvision import models
    return call(models.inception_v3(weights=None, init_weights=False), lambda m, x: m(x)), (normal(batch, 3, 299, 299),)


@network("raft_large", "torchvision")
def raft_large(batch):
    from torchvision import models
    model = models.get_model("raft_large", weights=None)
    return call(model, lambda m, a, b: m(a, b, num_flow_updates=6)[-1]), \
        (normal(batch, 3, 256, 320).clamp(-1, 1), normal(batch, 3, 256, 320).clamp(-1, 1))


@network("r3d_18", "torchvision")
def r3d_18(batch):
    from torchvision import models
    return call(models.get_model("r3d_18", weights=None), lambda m, x: m(x)), (normal(batch, 3, 16, 112, 112),)


# ---- images in transformers ----

@network("segformer_b0", "transformers")
def segformer_b0(batch):
    from transformers import SegformerConfig, SegformerForSemanticSegmentation
    model = SegformerForSemanticSegmentation(SegformerConfig(num_labels=150))
    return call(model, lambda m, x: m(x).logits), (normal(batch, 3, 512, 512),)


def dinov2_small(**more):
    from transformers import Dinov2Config
    return Dinov2Config(hidden_size=384, num_attention_heads=6, num_hidden_layers=12, image_size=518, patch_size=14, **more)


@network("dinov2_small", "transformers")
def dinov2(batch):
    from transformers import Dinov2Model
    return call(Dinov2Model(dinov2_small()), lambda m, x: m(x).last_hidden_state), (normal(batch, 3, 518, 518),)


@network("depth_anything_small", "transformers")
def depth_anything(batch):
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation
    backbone = dinov2_small(out_indices=[3, 6, 9, 12], apply_layernorm=True, reshape_hidden_states=False)
    config = DepthAnythingConfig(backbone_config=backbone, reassemble_hidden_size=384, patch_size=14,
                                 neck_hidden_sizes=[48, 96, 192, 384], fusion_hidden_size=64)
    return call(DepthAnythingForDepthEstimation(config), lambda m, x: m(x).predicted_depth), (normal(batch, 3, 518, 518),)


@network("detr_resnet50", "transformers")
def detr_resnet50(batch):
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig
    config = DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                        backbone_config=ResNetConfig(out_features=["stage4"]))

    def run(m, x):
        found = m(x)
        return found.logits, found.pred_boxes
    return call(DetrForObjectDetection(config), run), (normal(batch, 3, 640, 640),)


@network("rt_detr_r18", "transformers")
def rt_detr(batch):
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig
    backbone = RTDetrResNetConfig(layer_type="basic", depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512],
                                  out_features=["stage2", "stage3", "stage4"])
    config = RTDetrConfig(backbone_config=backbone, encoder_in_channels=[128, 256, 512], decoder_layers=3)

    def run(m, x):
        found = m(x)
        return found.logits, found.pred_boxes
    return call(RTDetrForObjectDetection(config), run), (normal(batch, 3, 640, 640),)


@network("yolos_tiny", "transformers")
def yolos_tiny(batch):
    from transformers import YolosConfig, YolosForObjectDetection
    config = YolosConfig(hidden_size=192, num_attention_heads=3, num_hidden_layers=12, intermediate_size=768,
                         image_size=[512, 512], use_mid_position_embeddings=False)

    def run(m, x):
        found = m(x)
        return found.logits, found.pred_boxes
    return call(YolosForObjectDetection(config), run), (normal(batch, 3, 512, 512),)


@network("sam2_tiny_encoder", "transformers")
def sam2(batch):
    from transformers import Sam2VisionConfig, Sam2VisionModel

    def run(m, x):
        return tuple(m(x).fpn_hidden_states)
    return call(Sam2VisionModel(Sam2VisionConfig()), run), (normal(batch, 3, 1024, 1024),)


@network("clip_vision_b32", "transformers")
def clip_vision(batch):
    from transformers import CLIPVisionConfig, CLIPVisionModelWithProjection
    model = CLIPVisionModelWithProjection(CLIPVisionConfig(projection_dim=512))
    return call(model, lambda m, x: m(x).image_embeds), (normal(batch, 3, 224, 224),)


@network("mobilevit_small", "transformers")
def mobilevit(batch):
    from transformers import MobileViTConfig, MobileViTForImageClassification
    return call(MobileViTForImageClassification(MobileViTConfig()), lambda m, x: m(x).logits), (normal(batch, 3, 256, 256),)


@network("swin2sr_x2", "transformers")
def swin2sr(batch):
    from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution
    config = Swin2SRConfig(embed_dim=60, depths=[6, 6, 6, 6], num_heads=[6, 6, 6, 6], upsampler="pixelshuffledirect")
    return call(Swin2SRForImageSuperResolution(config), lambda m, x: m(x).reconstruction), (normal(batch, 3, 64, 64),)


# ---- sound ----

@network("whisper_small_encoder", "transformers")
def whisper(batch):
    from transformers import WhisperConfig, WhisperModel
    config = WhisperConfig(d_model=768, encoder_layers=12, encoder_attention_heads=12, encoder_ffn_dim=3072, decoder_layers=1,
                           decoder_attention_heads=12, decoder_ffn_dim=3072)
    return call(WhisperModel(config).encoder, lambda m, x: m(x).last_hidden_state), (normal(batch, 80, 3000),)


@network("wav2vec2_base", "transformers")
def wav2vec2(batch):
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC
    return call(Wav2Vec2ForCTC(Wav2Vec2Config()), lambda m, x: m(x).logits), (normal(batch, 48000),)


@network("vits_decoder", "transformers")
def vits(batch):
    """From the latents of 100 frames to their waveform; the frames of a text depend on values."""
    import torch
    from transformers import VitsConfig, VitsModel
    model = VitsModel(VitsConfig())

    def run(m, latents, mask):
        return m.decoder(m.flow(latents, mask, None, reverse=True) * mask)
    return call(model, run), (normal(batch, 192, 100), torch.ones(batch, 1, 100))


@network("hifigan", "transformers")
def hifigan(batch):
    from transformers import SpeechT5HifiGan, SpeechT5HifiGanConfig
    return call(SpeechT5HifiGan(SpeechT5HifiGanConfig()), lambda m, x: m(x)), (normal(batch, 100, 80),)


@network("encodec_decoder", "transformers")
def encodec(batch):
    from transformers import EncodecConfig, EncodecModel
    return call(EncodecModel(EncodecConfig()).decoder, lambda m, x: m(x)), (normal(batch, 128, 75),)


# ---- text ----

@network("clip_text", "transformers")
def clip_text(batch):
    from transformers import CLIPTextConfig, CLIPTextModel
    config = CLIPTextConfig(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12)
    return call(CLIPTextModel(config), lambda m, x: m(x).last_hidden_state), (tokens(batch, 77, 49000),)


@network("t5_base_encoder", "transformers")
def t5(batch):
    from transformers import T5Config, T5EncoderModel
    config = T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12)
    return call(T5EncoderModel(config), lambda m, x: m(x).last_hidden_state), (tokens(batch, 128, 32000),)


@network("bert_base", "transformers")
def bert(batch):
    import torch
    from transformers import BertConfig, BertModel
    model = BertModel(BertConfig(), add_pooling_layer=False)
    return call(model, lambda m, x, mask: m(x, attention_mask=mask).last_hidden_state), \
        (tokens(batch, 128, 30000), torch.ones(batch, 128, dtype=torch.int64))


@network("modernbert_base", "transformers")
def modernbert(batch):
    from transformers import ModernBertConfig, ModernBertModel
    model = ModernBertModel(ModernBertConfig(attn_implementation="sdpa", reference_compile=False))
    return call(model, lambda m, x: m(x).last_hidden_state), (tokens(batch, 256, 50000),)


@network("deberta_v3_base", "transformers")
def deberta(batch):
    from transformers import DebertaV2Config, DebertaV2Model
    config = DebertaV2Config(vocab_size=32000, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                             intermediate_size=3072, relative_attention=True, position_buckets=256, norm_rel_ebd="layer_norm",
                             share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False)
    return call(DebertaV2Model(config), lambda m, x: m(x).last_hidden_state), (tokens(batch, 128, 32000),)


def decoder(kind, batch, prompt, past, **config):
    """The logits of the last token of a prompt, or with `past` tokens in a cache; then also the new keys and values."""
    import torch
    import transformers
    config = getattr(transformers, f"{kind}Config")(**config, bos_token_id=1, eos_token_id=2, use_cache=bool(past))
    model = getattr(transformers, "GPT2LMHeadModel" if kind == "GPT2" else f"{kind}ForCausalLM")(config)
    inputs = (tokens(batch, prompt, config.vocab_size),)
    if not past:
        return call(model, lambda m, x: m(x, logits_to_keep=1).logits), inputs
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    heads = config.num_key_value_heads

    def run(m, x, *values):
        cache = transformers.DynamicCache(config=config)
        for layer in range(config.num_hidden_layers):
            cache.update(values[2 * layer], values[2 * layer + 1], layer)
        place = torch.full((1, 1), past, dtype=torch.int64, device=x.device)
        out = m(x, past_key_values=cache, position_ids=place.expand(x.shape[0], 1), logits_to_keep=1)
        return (out.logits, *[t[:, :, -1:] for layer in cache.layers for t in (layer.keys, layer.values)])
    return call(model, run), inputs + tuple(normal(batch, heads, past, size) for _ in range(2 * config.num_hidden_layers))


LLAMA = dict(vocab_size=32000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=4, num_attention_heads=32,
             num_key_value_heads=32)
QWEN3 = dict(vocab_size=151936, hidden_size=1024, intermediate_size=3072, num_hidden_layers=4, num_attention_heads=16,
             num_key_value_heads=8, head_dim=128, tie_word_embeddings=True)
MIXTRAL = dict(vocab_size=32000, hidden_size=1024, intermediate_size=2048, num_hidden_layers=2, num_attention_heads=16,
               num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2, experts_implementation="batched_mm")


@network("llama_prompt", "transformers")
def llama_prompt(batch):
    return decoder("Llama", batch, 512, 0, **LLAMA)


@network("llama_token", "transformers")
def llama_token(batch):
    return decoder("Llama", batch, 1, 512, **LLAMA)


@network("qwen3_prompt", "transformers")
def qwen3_prompt(batch):
    return decoder("Qwen3", batch, 256, 0, **QWEN3)


@network("qwen3_token", "transformers")
def qwen3_token(batch):
    return decoder("Qwen3", batch, 1, 512, **QWEN3)


@network("gpt2_prompt", "transformers")
def gpt2(batch):
    return decoder("GPT2", batch, 128, 0, vocab_size=50257)


@network("mixtral_token", "transformers")
def mixtral(batch):
    return decoder("Mixtral", batch, 1, 256, **MIXTRAL)


@network("mamba_prompt", "transformers")
def mamba(batch):
    return decoder("Mamba", batch, 48, 0, vocab_size=50280, hidden_size=768, num_hidden_layers=4)


# ---- diffusers ----

def timestep(batch):
    import torch
    return torch.full((batch,), 500, dtype=torch.int64)


@network("sd15_unet", "diffusers")
def sd15_unet(batch):
    """Both halves of the guidance, as pipelines run them."""
    from diffusers import UNet2DConditionModel
    model = UNet2DConditionModel(sample_size=64, cross_attention_dim=768)
    return call(model, lambda m, x, t, text: m(x, t, text).sample), \
        (normal(2 * batch, 4, 64, 64), timestep(2 * batch), normal(2 * batch, 77, 768))


@network("sd15_controlnet", "diffusers")
def sd15_controlnet(batch):
    from diffusers import ControlNetModel
    model = ControlNetModel(cross_attention_dim=768)

    def run(m, x, t, text, image):
        found = m(x, t, text, image, return_dict=False)
        return (*found[0], found[1])
    return call(model, run), \
        (normal(batch, 4, 64, 64), timestep(batch), normal(batch, 77, 768), normal(batch, 3, 512, 512))


@network("sd15_vae_decoder", "diffusers")
def sd15_vae(batch):
    from diffusers import AutoencoderKL
    model = AutoencoderKL(block_out_channels=(128, 256, 512, 512), layers_per_block=2,
                          down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4)
    model.encoder = None
    return call(model, lambda m, x: m.decode(x).sample), (normal(batch, 4, 64, 64),)


@network("taesd_decoder", "diffusers")
def taesd(batch):
    from diffusers import AutoencoderTiny
    model = AutoencoderTiny()
    model.encoder = None
    return call(model, lambda m, x: m.decode(x).sample), (normal(batch, 4, 64, 64),)


@network("sdxl_unet_block", "diffusers")
def sdxl_block(batch):
    """The second block of the way down, of 2 transformers of 2 layers, at 64x64."""
    from diffusers.models.unets.unet_2d_blocks import CrossAttnDownBlock2D
    model = CrossAttnDownBlock2D(320, 640, 1280, num_layers=2, transformer_layers_per_block=2, num_attention_heads=10,
                                 cross_attention_dim=2048, use_linear_projection=True)
    return call(model, lambda m, x, t, text: m(x, t, encoder_hidden_states=text)[0]), \
        (normal(2 * batch, 320, 64, 64), normal(2 * batch, 1280), normal(2 * batch, 77, 2048))


@network("dit_xl_2", "diffusers")
def dit(batch):
    import torch
    from diffusers import DiTTransformer2DModel
    model = DiTTransformer2DModel(sample_size=32)
    return call(model, lambda m, x, t, c: m(x, timestep=t, class_labels=c).sample), \
        (normal(batch, 4, 32, 32), timestep(batch), torch.full((batch,), 207, dtype=torch.int64))


@network("flux_blocks", "diffusers")
def flux(batch):
    """One block of both streams and two of one, of 1024 patches and 256 words."""
    import torch
    from diffusers import FluxTransformer2DModel
    model = FluxTransformer2DModel(num_layers=1, num_single_layers=2, num_attention_heads=12, pooled_projection_dim=768,
                                   joint_attention_dim=2048)
    places = torch.zeros(1024, 3)
    places[:, 1], places[:, 2] = torch.arange(1024) // 32, torch.arange(1024) % 32

    def run(m, x, text, pooled, t, places, none):
        return m(x, text, pooled, t, places, none, return_dict=False)[0]
    return call(model, run), (normal(batch, 1024, 64), normal(batch, 256, 2048), normal(batch, 768), torch.full((batch,), 0.5),
                              places, torch.zeros(256, 3))


# ---- weights ----

def calibrate(module, run):
    """Statistics of batch normalisation are those of a batch, so that activations of random weights keep their size."""
    import torch
    norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    if norms:
        run()
        module.eval()


def fill(module):
    """Weights that begin at 0 would leave nothing of the results, and convolutions that make values much smaller too little for
    half precision."""
    import torch
    for x in module.parameters():
        if x.dim() > 1 and x.numel() and not x.any():
            torch.nn.init.normal_(x, std=0.02)
    for part in module.modules():
        if isinstance(part, torch.nn.modules.conv._ConvNd):
            terms = part.weight[0].numel() if not part.transposed else \
                part.weight[:, 0].numel() / part.groups / max(1, torch.Size(part.stride).numel())
            gain = part.weight.std() * terms**0.5
            if gain < 0.5:
                part.weight.mul_(1 / gain)


def prepare():
    """What all processes set before they make a network."""
    import torch
    torch.manual_seed(SEED)
    torch.backends.mha.set_fastpath_enabled(False)  # one operator that has no export


def make(name, batch=1, calibrated=True):
    """Returns the module and its inputs, with weights and inputs that FLOAT16 can represent, so that results of both types
    compare with the same reference."""
    import torch
    prepare()
    module, inputs = NETWORKS[name][1](batch)
    module = module.eval().requires_grad_(False)
    fill(module)
    inputs = tuple(x.half().float() if x.is_floating_point() else x for x in inputs)
    if calibrated:
        with torch.no_grad():
            calibrate(module, lambda: module(*[torch.cat([x, x.flip(-1)]) for x in inputs]))
        for x in (*module.parameters(), *module.buffers()):
            if x.is_floating_point():
                x.data = x.data.half().float()
    return module, inputs


def outputs_of(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]
