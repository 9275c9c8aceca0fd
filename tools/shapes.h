/* SPDX-License-Identifier: Apache-2.0 */
/* --input-shape: sizes of inputs for commands that generate their data. */
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

/* The shape of each input of the model: given, or its own. A free first dimension is 1, and a named one has the size of
 * the same name in an input with a given shape. `ones`: the others are 1 too, and it reports whether there were any;
 * NULL: they are an error. */
bool tools_shapes_of(const struct tools_shapes *shapes, const struct onnx_model *model, struct onnx_input *out,
                     bool *ones, struct tools_error *error);

#endif
