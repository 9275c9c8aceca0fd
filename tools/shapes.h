/* SPDX-License-Identifier: Apache-2.0 */
/* --input-shape: sizes of inputs for commands that make up their data. */
#ifndef TOOLS_SHAPES_H
#define TOOLS_SHAPES_H

#include "onnx/onnx.h"
#include "tools/error.h"

#define TOOLS_SHAPES_MAX 32

struct tools_shapes {
    const char *given[TOOLS_SHAPES_MAX]; /* NAME=SIZES */
    uint32_t count;
};

bool tools_shapes_take(struct tools_shapes *shapes, const char *value, struct tools_error *error);

/* The shape of each input of the model: given, or its own. A free first dimension is 1, and one with a name is what an
 * input with a given shape has there. `ones`: the others are 1 too, and it says whether there were any; NULL: they make
 * it fail. */
bool tools_shapes_of(const struct tools_shapes *shapes, const struct onnx_model *model, struct onnx_input *out,
                     bool *ones, struct tools_error *error);

#endif
