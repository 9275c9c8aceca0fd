# SPDX-License-Identifier: Apache-2.0
"""Functions that do not correspond to exactly one operator."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ._graph import Expression, make, one, with_size
from ._types import FusedActivation

__all__ = ["add", "split"]


def add(a: Expression, b: Expression, fused_activation: Optional[FusedActivation] = None) -> Expression:
    """y = a + b, or act(a + b) (DML_OPERATOR_ELEMENT_WISE_ADD, DML_OPERATOR_ELEMENT_WISE_ADD1)"""
    if fused_activation is None or fused_activation == FusedActivation():
        return one("ELEMENT_WISE_ADD", (a, b))
    return one("ELEMENT_WISE_ADD1", (a, b), (fused_activation,))


def split(input: Expression, axis: int, output_axis_sizes: Sequence[int]) -> list[Expression]:
    """splits the input along axis into parts of these sizes (DML_OPERATOR_SPLIT)"""
    parts = tuple((True, 0, with_size(input, axis, size)) for size in output_axis_sizes)
    return make("SPLIT", None, (input,), (parts,), (axis,))
