# SPDX-License-Identifier: Apache-2.0
"""docs/pytorch.md, "With your library": each line beside the CPU. Libraries that are not installed are skipped;
scripts/prepare-torch --libraries installs them."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import torch
import torch_directml
from torch import nn

DEVICE = torch_directml.device()


def needs(*names):
    return unittest.skipUnless(all(map(importlib.util.find_spec, names)), f"needs {', '.join(names)}")


def run(program, device):
    """Last line of what a program prints, which gets the device as its argument, in a process: the libraries take theirs at
    import, from the environment."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, device], capture_output=True, text=True, check=False,
                          env={**os.environ, "ACCELERATE_TORCH_DEVICE": device, "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        raise AssertionError(done.stderr[-2000:])
    return [float(word) for word in done.stdout.splitlines()[-1].split()]


ACCELERATE = """
import sys, tempfile, torch, torch_directml
from accelerate import Accelerator
torch.manual_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2, mixed_precision=MIXED)
assert accelerator.device.type == sys.argv[1]
model, x = torch.nn.Linear(8, 3), torch.randn(16, 8)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, torch.randn(16, 3)), 4)
model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), loader)
losses = []
def train():
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
train()
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    train()
    accelerator.load_state(folder)
    train()
assert losses[4:8] == losses[8:]
print(*losses)
"""
TRAINER = """
import sys, tempfile, torch, torch_directml, transformers
from transformers import Trainer, TrainingArguments
config = transformers.GPT2Config(vocab_size=64, n_positions=16, n_embd=16, n_layer=2, n_head=2, resid_pdrop=0, embd_pdrop=0,
                                 attn_pdrop=0)
tokens = torch.randint(0, 64, (16, 12), generator=torch.Generator().manual_seed(1))
data = [{"input_ids": row, "labels": row} for row in tokens]
def trainer(folder, **options):
    torch.manual_seed(0)
    arguments = TrainingArguments(folder, max_steps=6, save_steps=3, per_device_train_batch_size=4, report_to=[], disable_tqdm=True,
                                  learning_rate=1e-2, logging_steps=2, seed=0, **options)
    assert arguments.device.type == sys.argv[1]
    return Trainer(transformers.GPT2LMHeadModel(config), arguments, train_dataset=data, eval_dataset=data)
with tempfile.TemporaryDirectory() as folder:
    first = trainer(folder, gradient_checkpointing=True)
    first.train()
    again = trainer(folder, gradient_checkpointing=True)
    again.train(resume_from_checkpoint=folder + "/checkpoint-3")
    for a, b in zip(first.model.parameters(), again.model.parameters()):
        torch.testing.assert_close(a, b)
    print(*[line["loss"] for line in first.state.log_history if "loss" in line], first.evaluate()["eval_loss"])
"""
PEFT = """
import sys, tempfile, torch, torch_directml, peft, transformers
config = transformers.LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2)
tokens = torch.randint(0, 64, (4, 8), generator=torch.Generator().manual_seed(1)).to(sys.argv[1])
results = []
for options in ({}, {"use_dora": True}, {"init_lora_weights": "pissa"}):
    torch.manual_seed(0)
    model = peft.get_peft_model(transformers.LlamaForCausalLM(config), peft.LoraConfig(r=2, target_modules=["q_proj", "down_proj"],
                                                                                       **options)).to(sys.argv[1])
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        results.append(loss.item())
    merged = model.merge_and_unload()
    results.append(merged(input_ids=tokens, labels=tokens).loss.item())
print(*results)
"""


class Programs(unittest.TestCase):
    """The same losses as on the CPU."""

    def compare(self, program, tolerance=1e-3):
        for got, want in zip(run(program, "dml"), run(program, "cpu"), strict=True):
            self.assertLess(abs(got - want), tolerance * max(1, abs(want)))

    @needs("accelerate")
    def test_accelerate(self):
        self.compare(ACCELERATE.replace("MIXED", "'no'"))

    @needs("accelerate")
    def test_accelerate_in_bfloat16(self):
        self.compare(ACCELERATE.replace("MIXED", "'bf16'"), 2e-2)

    @needs("accelerate", "transformers")
    def test_trainer(self):
        self.compare(TRAINER)

    @needs("peft", "transformers")
    def test_peft(self):
        self.compare(PEFT)


@needs("lightning")
class Lightning(unittest.TestCase):
    """A strategy that names the device."""

    def test_training(self):
        import lightning  # pylint: disable=import-outside-toplevel

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer, self.losses = nn.Linear(6, 3), []

            def training_step(self, batch, _):
                loss = self.layer(batch[0]).square().mean()
                self.losses.append(loss.item())
                return loss

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters(), 0.1)

        class Accelerator(lightning.pytorch.accelerators.Accelerator):
            def setup_device(self, device):
                torch.dml.set_device(device)

            def teardown(self):
                pass

            parse_devices = get_parallel_devices = auto_device_count = is_available = name = staticmethod(lambda *_: 1)

        losses = []
        for options in ({"accelerator": "cpu"}, {"strategy": lightning.pytorch.strategies.SingleDeviceStrategy(
                device=torch.device("dml", 0), accelerator=Accelerator())}):
            torch.manual_seed(0)
            module, x = Module(), torch.randn(8, 6)
            with tempfile.TemporaryDirectory() as folder:
                lightning.Trainer(max_epochs=3, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                  enable_model_summary=False, default_root_dir=folder, **options).fit(
                    module, torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), 4))
            losses.append(torch.tensor(module.losses))
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-4, atol=1e-5)


@needs("safetensors")
class Safetensors(unittest.TestCase):
    def test_files(self):
        from safetensors.torch import load_file, load_model, save_file, save_model  # pylint: disable=import-outside-toplevel
        module, other = nn.Linear(3, 2).to(DEVICE), nn.Linear(3, 2).to(DEVICE)
        with tempfile.TemporaryDirectory() as folder:
            save_file(dict(module.state_dict()), f"{folder}/file")
            self.assertTrue(torch.equal(load_file(f"{folder}/file")["weight"].to("dml"), module.weight))
            with self.assertRaises(Exception):
                load_file(f"{folder}/file", device="dml")
            save_model(module, f"{folder}/model")
            load_model(other, f"{folder}/model")
        self.assertTrue(torch.equal(other.weight, module.weight))


if __name__ == "__main__":
    unittest.main()
