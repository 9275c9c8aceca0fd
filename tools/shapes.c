/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/shapes.h"

#include "tools/text.h"

#include <stdlib.h>

bool tools_shapes_take(struct tools_shapes *s, const char *value, struct tools_error *error)
{
    if (!strchr(value, '=') || s->count == TOOLS_SHAPES_MAX)
        return tools_fail(error, TOOLS_USAGE, "--input-shape must be NAME=1x3x224x224, not '%s'", value);
    s->given[s->count++] = value;
    return true;
}

static bool given_shape(const char *text, const struct onnx_value_info *input, struct onnx_input *out,
                        struct tools_error *error)
{
    if (!tools_parse_shape(strrchr(text, '=') + 1, out))
        return tools_fail(error, TOOLS_USAGE, "--input-shape must be NAME=1x3x224x224, not '%s'", text);
    bool fits = !input->has_shape || input->rank == out->rank;
    for (uint32_t i = 0; fits && input->has_shape && i < out->rank; i++)
        fits = input->dims[i] < 0 || input->dims[i] == out->dims[i];
    char shape[256];
    return fits || tools_fail(error, TOOLS_USAGE, "--input-shape %s: the model's input is %s", text,
                              tools_shape_text(shape, sizeof(shape), input->type, input->rank, input->dims,
                                               (const char *const *)input->symbols));
}

/* The given shape of the input, or NULL. */
static const char *find_given(const struct tools_shapes *s, const struct onnx_value_info *input)
{
    size_t length = strlen(input->name);
    for (uint32_t i = 0; i < s->count; i++) {
        const char *text = s->given[i];
        if ((size_t)(strrchr(text, '=') - text) == length && memcmp(text, input->name, length) == 0)
            return text;
    }
    return NULL;
}

/* The size of a named dimension in an input whose shape was given; -1: none. */
static int64_t size_of_symbol(const struct tools_shapes *s, const struct onnx_model *model,
                              const struct onnx_input *shapes, const char *symbol)
{
    for (uint32_t i = 0; symbol && i < model->input_count; i++) {
        const struct onnx_value_info *input = &model->inputs[i];
        for (uint32_t d = 0; input->has_shape && find_given(s, input) && d < input->rank; d++) {
            if (input->dims[d] < 0 && input->symbols[d] && !strcmp(input->symbols[d], symbol))
                return shapes[i].dims[d];
        }
    }
    return -1;
}

/* The shape of an input without a given one; false: some of it is free, and those dimensions become 1. */
static bool own_shape(const struct tools_shapes *s, const struct onnx_model *model, uint32_t index,
                      struct onnx_input *shapes)
{
    const struct onnx_value_info *input = &model->inputs[index];
    struct onnx_input *out = &shapes[index];
    bool whole = input->has_shape;
    out->rank = input->rank;
    for (uint32_t i = 0; i < input->rank; i++) {
        int64_t size = input->dims[i] < 0 ? size_of_symbol(s, model, shapes, input->symbols[i]) : input->dims[i];
        whole = whole && (size >= 0 || i == 0); /* dimension 0 is the batch */
        out->dims[i] = size < 0 ? 1 : size;
    }
    return whole;
}

/* The free dimensions, in one line. */
static bool ask(const struct onnx_model *model, const bool *open, struct tools_error *error)
{
    char list[512], shape[256];
    size_t used = 0;
    const char *first = NULL;
    list[0] = 0;
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct onnx_value_info *input = &model->inputs[i];
        if (!open[i] || used >= sizeof(list))
            continue;
        if (input->has_shape)
            tools_shape_text(shape, sizeof(shape), input->type, input->rank, input->dims,
                             (const char *const *)input->symbols);
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s'%s' %s%s", first ? ", " : "", input->name,
                                 input->has_shape ? "is " : "has no shape", input->has_shape ? shape : "");
        first = first ? first : input->name;
    }
    return tools_fail(error, TOOLS_USAGE, "free sizes: input %s; use --input-shape %s=SIZES and so on", list, first);
}

static bool check_given(const struct tools_shapes *s, const struct onnx_model *model, struct tools_error *error)
{
    for (uint32_t g = 0; g < s->count; g++) {
        size_t length = (size_t)(strrchr(s->given[g], '=') - s->given[g]);
        bool known = false;
        for (uint32_t i = 0; i < model->input_count; i++)
            known |= strlen(model->inputs[i].name) == length && memcmp(model->inputs[i].name, s->given[g], length) == 0;
        if (!known)
            return tools_fail(error, TOOLS_USAGE, "--input-shape %s: the model does not have that input", s->given[g]);
        for (uint32_t other = 0; other < g; other++)
            if (!strncmp(s->given[other], s->given[g], length + 1) && !strchr(s->given[other] + length + 1, '='))
                return tools_fail(error, TOOLS_USAGE, "--input-shape %s: that input has '%s' already", s->given[g],
                                  s->given[other]);
    }
    return true;
}

bool tools_shapes_of(const struct tools_shapes *s, const struct onnx_model *model, struct onnx_input *out, bool *ones,
                     struct tools_error *error)
{
    bool ok = check_given(s, model, error), whole = true, shaped = true;
    bool *open = ok ? calloc(model->input_count + 1, sizeof(*open)) : NULL;
    if (ok && !open)
        return tools_fail_memory(error);
    for (uint32_t i = 0; ok && i < model->input_count; i++) {
        const char *given = find_given(s, &model->inputs[i]);
        ok = !given || given_shape(given, &model->inputs[i], &out[i], error);
    }
    for (uint32_t i = 0; ok && i < model->input_count; i++) {
        open[i] = !find_given(s, &model->inputs[i]) && !own_shape(s, model, i, out);
        whole = whole && !open[i];
        shaped = shaped && (!open[i] || model->inputs[i].has_shape);
    }
    if (ones)
        *ones = ok && !whole && shaped;
    if (ok && !whole && !(ones && shaped))
        ok = ask(model, open, error);
    free(open);
    return ok;
}
