# SPDX-License-Identifier: Apache-2.0
"""Writes PNG files of every kind that the tests need."""
import struct
import zlib

import numpy as np

COLOUR = {1: 0, 3: 2, 2: 4, 4: 6}  # channels to PNG's colour type


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(array, palette=None):
    """array [H, W, C] of uint8 or uint16; with a palette [N, 3] the array holds indices."""
    height, width, channels = array.shape
    bits = 16 if array.dtype == np.uint16 else 8
    colour = 3 if palette is not None else COLOUR[channels]
    big = array.astype(">u2") if bits == 16 else array
    rows = b"".join(b"\0" + big[y].tobytes() for y in range(height))
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    if palette is not None:
        out += chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    return out + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def read_png(path):
    """An 8-bit RGB file that the command wrote, as [H, W, 3]."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed = 8, b""
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack(">IIBB", body[:10])
            assert (bits, colour) == (8, 2)
        elif kind == b"IDAT":
            packed += body
        at += size + 12
    return unfilter(zlib.decompress(packed), width, height)


def unfilter(raw, width, height):
    out = np.zeros((height + 1, width * 3 + 3), np.int64)  # with a border of zeros above and to the left
    stride = width * 3 + 1
    for y in range(height):
        kind, row = raw[y * stride], raw[y * stride + 1:(y + 1) * stride]
        for i, byte in enumerate(row):
            left, above, corner = out[y + 1, i], out[y, i + 3], out[y, i]
            guess = left + above - corner
            nearest = min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))
            out[y + 1, i + 3] = (byte + (0, left, above, (left + above) // 2, nearest[2])[kind]) & 255
    return out[1:, 3:].reshape(height, width, 3).astype(np.uint8)
