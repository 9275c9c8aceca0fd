# SPDX-License-Identifier: Apache-2.0
"""Functions of operators that are not one operator each."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from ._graph import PLAIN, Expression, make, with_size
from ._types import FusedActivation

__all__ = ["add", "split"]


def add(a: Expression, b: Expression, fused_activation: Optional[FusedActivation] = None) -> Expression:
    """y = a + b, or act(a + b) (DML_OPERATOR_ELEMENT_WISE_ADD, DML_OPERATOR_ELEMENT_WISE_ADD1)"""
    result: Expression
    if fused_activation is None or fused_activation == FusedActivation():
        result = make("ELEMENT_WISE_ADD", None, (a, b), (PLAIN,), ())[0]
    else:
        result = make("ELEMENT_WISE_ADD1", None, (a, b), (PLAIN,), (fused_activation,))[0]
    return result


def split(input: Expression, axis: int, output_axis_sizes: Sequence[int]) -> list[Expression]:
    """cuts the input along axis into parts of these sizes (DML_OPERATOR_SPLIT)"""
    parts = tuple((True, 0, with_size(input, axis, size)) for size in output_axis_sizes)
    return make("SPLIT", None, (input,), (parts,), (axis,))
