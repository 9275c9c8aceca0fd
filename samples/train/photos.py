#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the photographs listed in photos.tsv and prepares images from them.

photos.py fetch DIR        download the Debian packages, keep one original per row in DIR
photos.py demo DIR FILE    write the demo photograph, a reduced crop of a held-out original
"""
import csv
import os
import shutil
import subprocess
import sys
import tempfile

from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
SCALE = 2
TEST_SIDE = 1024  # longest side of a held-out image
DEMO_BOX = (0, 25, 1365, 1049)  # 4:3
DEMO_SIZE = (1024, 768)


def rows(*uses):
    """Returns the rows of photos.tsv whose use is one of uses; without arguments, all rows."""
    with open(os.path.join(HERE, "photos.tsv"), newline="", encoding="utf-8") as f:
        return [r for r in csv.DictReader(f, delimiter="\t") if not uses or r["use"] in uses]


def original(directory, row):
    """The path at which fetch stores a row's photograph."""
    return os.path.join(directory, row["name"] + os.path.splitext(row["path"])[1])


def fetch(directory):
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        packages = sorted({r["package"] for r in rows()})
        subprocess.run(["apt-get", "download", *packages], cwd=work, check=True)
        for deb in os.listdir(work):
            root = os.path.join(work, deb.split("_")[0] + ".files")
            subprocess.run(["dpkg-deb", "-x", os.path.join(work, deb), root], check=True)
        for row in rows():
            source = os.path.join(work, row["package"] + ".files", row["path"])
            shutil.copyfile(source, original(directory, row))


def reduce_half(image):
    """The low-resolution input: antialiased bicubic, rounded to 8 bits, as in the demo."""
    return image.resize((image.width // SCALE, image.height // SCALE), Image.BICUBIC)


def enlarge(image):
    """Bicubic upscaling, the baseline."""
    return image.resize((image.width * SCALE, image.height * SCALE), Image.BICUBIC)


def even(image):
    """The image without its last odd column and row."""
    return image.crop((0, 0, image.width // SCALE * SCALE, image.height // SCALE * SCALE))


def fitted(image, side):
    """The image reduced until its longest side is at most `side`, both sides even."""
    factor = min(1.0, side / max(image.size))
    size = (round(image.width * factor), round(image.height * factor))
    return even(image if factor == 1.0 else image.resize(size, Image.LANCZOS))


def open_rgb(path):
    return Image.open(path).convert("RGB")


def test_picture(directory, row):
    """A held-out photograph in the size used for measurement."""
    image = open_rgb(original(directory, row))
    if row["use"] == "demo":
        return image.crop(DEMO_BOX).resize(DEMO_SIZE, Image.LANCZOS)
    return fitted(image, TEST_SIDE)


def demo(directory, path):
    (row,) = rows("demo")
    test_picture(directory, row).save(path, quality=94, subsampling=0, optimize=True)


def main(args):
    if len(args) == 2 and args[0] == "fetch":
        fetch(args[1])
    elif len(args) == 3 and args[0] == "demo":
        demo(args[1], args[2])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
