# SPDX-License-Identifier: Apache-2.0
"""The schema as the driver prints it, and the data types."""
import json
import subprocess

import numpy as np


class Nibbles:
    """The dtype of 4-bit integers, which numpy lacks: arrays hold one value per int8 or uint8 element."""

    def __init__(self, name, storage, low, high):
        self.name, self.storage, self.low, self.high = name, np.dtype(storage), low, high
        self.kind, self.itemsize = self.storage.kind, 1

    def wrap(self, values):
        """An array of this type from integers in range."""
        out = np.ascontiguousarray(values).astype(self.storage).reshape(np.shape(values)).view(NibbleArray)
        out.nibbles = self
        return out

    def __repr__(self):
        return self.name


class NibbleArray(np.ndarray):
    """Values of a 4-bit type."""

    def __array_finalize__(self, other):
        self.nibbles = getattr(other, "nibbles", None)


class BFloatArray(np.ndarray):
    """Values of bfloat16, which numpy lacks, as their bits: the upper halves of FLOAT32."""


def bfloat_bits(values):
    """The bfloat16 next to each value, halves to even, as BFloatArray."""
    flat = np.asarray(values, np.float32).reshape(-1)
    bits = flat.view(np.uint32)
    rounded = np.where(np.isnan(flat), bits | np.uint32(0x400000), bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)))
    return (rounded >> np.uint32(16)).astype(np.uint16).reshape(np.shape(values)).view(BFloatArray)


def bfloat_values(bits):
    """The values as float32."""
    flat = np.asarray(bits).reshape(-1).astype(np.uint32) << np.uint32(16)
    return flat.view(np.float32).reshape(np.shape(bits))


INT4 = Nibbles("INT4", np.int8, -8, 7)
UINT4 = Nibbles("UINT4", np.uint8, 0, 15)

_DTYPES = {name: np.dtype(name.lower()) for name in
           ("FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")}
_DTYPES.update(INT4=INT4, UINT4=UINT4)
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_DTYPES.update(BFLOAT16=np.dtype(np.uint16))  # of its bits


def dtype_of(name):
    """np.dtype or Nibbles of a data type's name, case ignored; bfloat16 is its bits."""
    return _DTYPES[name.upper()]


def type_name(dtype):
    """The name of a dtype, of an array's dtype, or of that name itself."""
    if isinstance(dtype, str):
        return dtype.upper()
    if isinstance(dtype, np.ma.MaskedArray):
        dtype = dtype.data
    if isinstance(dtype, NibbleArray):
        return dtype.nibbles.name
    if isinstance(dtype, BFloatArray):
        return "BFLOAT16"
    if isinstance(dtype, np.ndarray):
        dtype = dtype.dtype
    if isinstance(dtype, Nibbles):
        return dtype.name
    dtype = np.dtype(dtype)
    return "UINT8" if dtype == np.bool_ else _NAMES[dtype]


def is_float(dtype):
    return not isinstance(dtype, Nibbles) and np.dtype(dtype).kind == "f"


def lowest(dtype):
    return dtype.low if isinstance(dtype, Nibbles) else int(np.iinfo(dtype).min)


def highest(dtype):
    return dtype.high if isinstance(dtype, Nibbles) else int(np.iinfo(dtype).max)


class Field:
    def __init__(self, row):
        self.name, self.kind, self.type = row["name"], row["kind"], row["type"]
        self.required, self.fuse = row["required"], row["fuse"]
        self.types, self.extensions = row.get("types", []), row.get("extensions", [])
        self.min_rank, self.max_rank = row.get("min_rank", 0), row.get("max_rank", 0)
        self.aliases, self.length, self.values = row.get("aliases", 0), row.get("length"), row.get("values", [])


class Operator:
    def __init__(self, row):
        self.name, self.number, self.fuse = row["name"], row["type"], row["fuse"]
        self.fields = [Field(field) for field in row["fields"]]
        self.by_name = {field.name: field for field in self.fields}

    def field(self, name):
        return self.by_name[name]

    def first_tensor(self):
        """The field whose types stand for the operator's where a case file names none."""
        inputs = [field for field in self.fields if field.kind == "input"]
        return (inputs or [field for field in self.fields if field.kind == "output"])[0].name


class Schema:
    def __init__(self, driver):
        listing = json.loads(subprocess.run([driver, "--list"], stdout=subprocess.PIPE, check=True).stdout)
        self.numbers = dict(listing["types"])
        self.operators = {row["name"]: Operator(row) for row in listing["operators"]}
