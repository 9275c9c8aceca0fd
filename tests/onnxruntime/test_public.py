# SPDX-License-Identifier: Apache-2.0
"""Public networks from PyPI packages on real inputs: the execution provider (with fallback) against the CPU provider.

    test_public.py LIBRARY [--match REGEX]

Needs one or more of rapidocr-onnxruntime, silero-vad, magika, basic-pitch, captcha-whisperer, arabic-name-romanizer
(installed without their dependencies: only the networks in them are used) and, for images of text, Pillow. Outputs must
be close and what is decided by them equal. Only control flow may be left to the CPU provider.
"""
import argparse
import collections
import importlib.util
import json
import pathlib
import re
import sys

from provider import SKIP, Log, cpu_session, np, relative_error, session

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {"If", "Loop", "Scan", "SequenceConstruct", "SequenceAt", "SequenceInsert", "ConcatFromSequence", "SplitToSequence"}
LEFT = re.compile(r"left to another provider: (\S+) '[^']*': (.*)")


def package(name):
    spec = importlib.util.find_spec(name)
    return pathlib.Path(spec.origin).parent if spec and spec.origin else None


def text_image(text, size, height=None, margin=24):
    """Black text on white, RGB."""
    from PIL import Image, ImageDraw, ImageFont
    font = ImageFont.load_default(size)
    box = font.getbbox(text)
    image = Image.new("RGB", (box[2] + 2 * margin, height or box[3] + 2 * margin), "white")
    ImageDraw.Draw(image).text((margin, margin), text, "black", font)
    return image


def speech(rate, seconds=3.0):
    """Something like speech: pulses through three resonances, in syllables, after and before silence with noise."""
    rng = np.random.default_rng(3)
    count = int(rate * seconds)
    t = np.arange(count) / rate
    pitch = 120 + 25 * np.sin(2 * np.pi * 0.7 * t)
    phase = np.cumsum(pitch) / rate
    pulses = np.diff(np.floor(phase), prepend=0.0)
    out = np.zeros(count)
    for frequency, width, gain in ((600, 80, 1.0), (1200, 100, 0.5), (2500, 150, 0.25)):
        r = np.exp(-np.pi * width / rate)
        taps = r ** np.arange(int(0.03 * rate)) * np.sin(2 * np.pi * frequency / rate * np.arange(int(0.03 * rate)))
        out += gain * np.convolve(pulses, taps)[:count]
    syllables = np.clip(np.sin(2 * np.pi * 3.5 * t), 0, 1) * ((t > 0.8) & (t < 2.3))
    return (0.3 * out / np.abs(out).max() * syllables + 0.002 * rng.standard_normal(count)).astype(np.float32)


class Pair:
    """A network on both providers."""

    def __init__(self, library, path, limit):
        with Log() as log:
            self.ours = session(library, str(path), level=0)
        self.cpu = cpu_session(str(path))
        self.left = collections.Counter(LEFT.findall(log.text))
        self.worst, self.limit, self.name = 0.0, limit, f"{path.parent.name}/{path.name}"
        placed = re.findall(r"placed on \[(\w+)\]\. Number of nodes: (\d+)", log.text)
        self.placed = ", ".join(f"{count} {name}" for name, count in placed)

    def run(self, feeds):
        """The outputs of both: (ours, the CPU provider's)."""
        got, want = self.ours.run(None, feeds), self.cpu.run(None, feeds)
        for g, w in zip(got, want):
            self.worst = max(self.worst, relative_error(g, w) if g.dtype != bool else float(not np.array_equal(g, w)))
        return got, want

    def report(self, decided, same):
        others = {op: count for (op, _), count in self.left.items() if op not in NOT_OURS}
        good = self.worst <= self.limit and same and not others
        print(f"{'ok' if good else 'FAILED':7}{self.name}: error {self.worst:.1e} of {self.limit:.0e}, {decided}"
              f"{'' if same else ' (NOT as the CPU provider)'}; {self.placed}", flush=True)
        for (op, why), count in self.left.items():
            print(f"       {count} {op}: {why}")
        return good


# ---- file types ----

def magika(library):
    folder = package("magika")
    path = folder and folder / "models" / "standard_v3_3"
    if not path or not (path / "model.onnx").exists():
        return None
    config = json.loads((path / "config.min.json").read_text())
    labels, pad = config["target_labels_space"], config["padding_token"]
    known = [("src/onnx/check.c", "c"), ("README.md", "markdown"), ("tests/onnxruntime/provider.py", "python"),
             ("scripts/run-tests", "shell"), ("samples/data/brushes.jpg", "jpeg"), ("LICENSE", "txt")]
    known = [(ROOT / name, label) for name, label in known if (ROOT / name).exists()]
    tokens = np.full((len(known), config["beg_size"] + config["end_size"]), pad, np.int32)
    for row, (name, _) in zip(tokens, known):
        data, size = name.read_bytes(), config["block_size"]
        begin, end = data[:size].lstrip()[:config["beg_size"]], data[-size:].rstrip()[-config["end_size"]:]
        row[:len(begin)] = list(begin)
        row[len(row) - len(end):] = list(end)
    pair, good = Pair(library, path / "model.onnx", 1e-4), True
    found = []
    for batch in (tokens[:1], tokens, tokens[1:3]):
        got, want = pair.run({"bytes": batch})
        found = [labels[i] for i in got[0].argmax(1)] if batch is tokens else found
        good = good and np.array_equal(got[0].argmax(1), want[0].argmax(1))
    sure = sum(label == expected for label, (_, expected) in zip(found, known))
    return pair.report(" ".join(found), good and sure >= len(known) - 1)


# ---- reading text ----

def letters(logits, alphabet, blank):
    best = [int(i) for i in logits.argmax(-1)]
    return "".join(alphabet[i] for i, before in zip(best, [blank] + best) if i not in (blank, before))


def normalized(image, width, height):
    image = image.resize((width, height))
    return ((np.asarray(image, np.float32) / 255 - 0.5) / 0.5)[:, :, ::-1].transpose(2, 0, 1)[None].copy()


def ocr(library):
    folder = package("rapidocr_onnxruntime")
    if not folder or not package("PIL"):
        return None
    models, good = folder / "models", True
    find = Pair(library, models / "ch_PP-OCRv4_det_infer.onnx", 1e-3)
    turn = Pair(library, models / "ch_ppocr_mobile_v2.0_cls_infer.onnx", 1e-4)
    read = Pair(library, models / "ch_PP-OCRv4_rec_infer.onnx", 1e-3)
    alphabet = ["", *read.cpu.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    same_boxes = same_turn = same_text = True
    texts, boxes = ["Open source graphics", "Hello World 2024", "libdirectml"], 0
    for i, text in enumerate(texts):
        image = text_image(text, 36 + 8 * i)
        width, height = (max(32, round(n / 32) * 32) for n in image.size)
        got, want = find.run({"x": normalized(image, width, height)})
        maps = [np.argwhere(m[0][0, 0] > 0.3) for m in (got, want)]
        same_boxes &= len(maps[0]) == len(maps[1]) > 0
        (top, left), (bottom, right) = maps[0].min(0), maps[0].max(0) + 1
        grow = (bottom - top) // 2
        box = (max(left - grow, 0) * image.width // width, max(top - grow, 0) * image.height // height,
               (right + grow) * image.width // width, (bottom + grow) * image.height // height)
        boxes += 1
        line = image.crop(box)
        got, want = turn.run({"x": normalized(line, 192, 48)})
        same_turn &= np.array_equal(got[0].argmax(1), want[0].argmax(1)) and got[0].argmax(1)[0] == 0
        got, want = read.run({"x": normalized(line, max(48, line.width * 48 // line.height), 48)})
        texts[i] = letters(got[0][0], alphabet, 0)
        same_text &= texts[i] == letters(want[0][0], alphabet, 0)
        same_text &= texts[i].replace(" ", "") == text.replace(" ", "")
    good &= find.report(f"{boxes} lines found", same_boxes)
    good &= turn.report("upright", same_turn)
    return read.report(repr(texts), same_text) and good


def captcha(library):
    folder = package("captcha_whisperer")
    if not folder or not package("PIL"):
        return None
    pair, texts, same = Pair(library, folder / "models" / "captcha_crnn.onnx", 1e-4), [], True
    for text in ("7KX2", "ANY9", "DML4"):
        image = text_image(text, 40, 60, 8).resize((160, 60))
        pixels = np.asarray(image, np.float32)[:, :, ::-1].transpose(2, 0, 1)[None].copy()
        got, want = pair.run({"image": pixels})
        decoded = [letters(x[0][:, 0], "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 36) for x in (got, want)]
        same &= decoded[0] == decoded[1]
        texts.append(decoded[0])
    return pair.report(repr(texts), same)


# ---- sound ----

def voice(library):
    folder = package("silero_vad")
    if not folder:
        return None
    good = True
    for path in sorted((folder / "data").glob("silero_vad*.onnx")):
        if "sequence" in path.name:
            good &= voice_sequence(library, path)
            continue
        for rate in (16000,) if "16k" in path.name or "half" in path.name else (16000, 8000):
            good &= voice_chunks(library, path, rate)
    return good


def voice_chunks(library, path, rate):
    """As the package does: pieces of 32 ms with some of the piece before, and a state that goes from run to run."""
    pair, sound = Pair(library, path, 2e-3 if "half" in path.name else 1e-4), speech(rate)
    names = {x.name for x in pair.cpu.get_inputs()}
    size, context = rate * 32 // 1000, rate * 4 // 1000
    state, same, speaking = np.zeros((2, 1, 128), np.float32), True, 0
    for at in range(context, len(sound) - size, size):
        feeds = {"input": sound[None, at - context:at + size], "state": state}
        if "sr" in names:
            feeds["sr"] = np.array(rate, np.int64)
        got, want = pair.run(feeds)
        same &= (got[0] > 0.5) == (want[0] > 0.5)
        speaking += int(got[0].item() > 0.5)
        state = want[1]
    return pair.report(f"{rate} Hz: speech in {speaking} pieces", bool(same))


def voice_sequence(library, path):
    pair, sound = Pair(library, path, 1e-4), speech(16000)
    zero, same = np.zeros((1, 1, 128), np.float32), True
    for count in (1, 10, 80, 33):
        pieces = np.stack([sound[512 * i:512 * i + 576] for i in range(count)])
        got, want = pair.run({"input": pieces, "h": zero, "c": zero})
        same &= np.array_equal(got[0] > 0.5, want[0] > 0.5)
    return pair.report("sequences of 1 to 80 pieces", bool(same))


def notes(library):
    folder = package("basic_pitch")
    path = folder and folder / "saved_models" / "icassp_2022" / "nmp.onnx"
    if not path or not path.exists():
        return None
    pair, same, heard = Pair(library, path, 1e-3), True, []
    t = np.arange(43844) / 22050
    for keys in ([48], [39, 43, 46], [51, 27]):
        tones = sum(np.sin(2 * np.pi * 27.5 * 2 ** (k / 12) * h * t) / h for k in keys for h in range(1, 5))
        sound = (0.2 * tones * np.exp(-t)).astype(np.float32)[None, :, None]
        for batch in (sound, np.concatenate([sound, 0.5 * sound])):
            got, want = pair.run({pair.cpu.get_inputs()[0].name: batch})
            same &= all(np.mean((g > 0.5) == (w > 0.5)) > 0.9999 for g, w in zip(got, want))
        # One of the outputs with 88 keys is that of notes: its strongest keys are those that sound.
        levels = max((g[0].mean(0) for g in got if g.shape[2] == 88), key=np.max)
        heard.append(sorted(int(k) for k in np.argsort(levels)[-len(keys):]))
        same &= heard[-1] == sorted(keys)
    return pair.report(f"keys {heard}", bool(same))


# ---- writing ----

def names(library):
    """Transliteration, letter by letter: an encoder, then a decoder whose inputs grow."""
    folder = package("arabic_name_romanizer")
    path = folder and folder / "resources"
    if not path or not (path / "vocab.json").exists():
        return None
    tokens = json.loads((path / "vocab.json").read_text(encoding="utf-8"))["tokens"]
    place = {token: i for i, token in enumerate(tokens)}
    encoder, decoder = Pair(library, path / "encoder.onnx", 1e-4), Pair(library, path / "decoder.onnx", 1e-4)
    written, same = [], True
    for name in ("محمد", "عبدالله", "فاطمة"):
        source = np.array([[place.get(c, place["<UNK>"]) for c in name] + [place["<EOS>"]]], np.int64)
        _, state = encoder.run({"src": source, "src_mask": np.ones(source.shape, bool)})
        prefix = np.array([[place["<BOS>"]]], np.int64)
        for _ in range(24):
            got, want = decoder.run({"prefix": prefix, "memory": state[0], "src_mask": state[1], "hidden": state[2]})
            same &= got[0].argmax() == want[0].argmax()
            state[2] = want[1]
            prefix = np.append(prefix, [[want[0].argmax()]], 1)
            if prefix[0, -1] == place["<EOS>"]:
                break
        written.append("".join(tokens[i] for i in prefix[0] if not tokens[i].startswith("<")))
    good = encoder.report(f"{len(written)} names", True)
    return decoder.report(" ".join(written), bool(same)) and good


TESTS = {"magika": magika, "ocr": ocr, "captcha": captcha, "voice": voice, "notes": notes, "names": names}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--match", default="")
    args = parser.parse_args()
    results = {name: test(args.library) for name, test in TESTS.items() if re.search(args.match, name)}
    missing = [name for name, result in results.items() if result is None]
    if missing:
        print("skipped, their packages are not installed:", ", ".join(missing))
    if len(missing) == len(results):
        return SKIP
    return 0 if all(result is not False for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
