#include "tools/shapes.h"

#include "tools/text.h"

bool tools_shapes_take(struct tools_shapes *s, const char *value, struct tools_error *error)
{
    if (!strchr(value, '=') || s->count == TOOLS_SHAPES_MAX)
        return tools_fail(error, TOOLS_USAGE, "--input-shape takes NAME=1x3x224x224, not '%s'", value);
    s->given[s->count++] = value;
    return true;
}

static bool given_shape(const char *text, const struct onnx_value_info *input, struct onnx_input *out,
                        struct tools_error *error)
{
    if (!tools_parse_shape(strrchr(text, '=') + 1, out))
        return tools_fail(error, TOOLS_USAGE, "--input-shape takes NAME=1x3x224x224, not '%s'", text);
    bool fits = !input->has_shape || input->rank == out->rank;
    for (uint32_t i = 0; fits && input->has_shape && i < out->rank; i++)
        fits = input->dims[i] < 0 || input->dims[i] == out->dims[i];
    char shape[256];
    return fits || tools_fail(error, TOOLS_USAGE, "--input-shape %s: the model's input is %s", text,
                              tools_shape_text(shape, sizeof(shape), input->type, input->rank, input->dims,
                                               (const char *const *)input->symbols));
}

static bool find_shape(const struct tools_shapes *s, const struct onnx_value_info *input, struct onnx_input *out,
                       struct tools_error *error)
{
    size_t length = strlen(input->name);
    for (uint32_t i = 0; i < s->count; i++) {
        const char *text = s->given[i];
        if ((size_t)(strrchr(text, '=') - text) == length && memcmp(text, input->name, length) == 0)
            return given_shape(text, input, out, error);
    }
    if (!input->has_shape)
        return tools_fail(error, TOOLS_USAGE, "input '%s' has no shape; give --input-shape %s=SIZES", input->name,
                          input->name);
    out->rank = input->rank;
    for (uint32_t i = 0; i < input->rank; i++) {
        out->dims[i] = input->dims[i];
        if (input->dims[i] < 0 && i == 0)
            out->dims[i] = 1; /* the batch */
        else if (input->dims[i] < 0)
            return tools_fail(error, TOOLS_USAGE, "dimension %u of input '%s' is free; give --input-shape %s=SIZES", i,
                              input->name, input->name);
    }
    return true;
}

bool tools_shapes_of(const struct tools_shapes *s, const struct onnx_model *model, struct onnx_input *out,
                     struct tools_error *error)
{
    for (uint32_t g = 0; g < s->count; g++) {
        size_t length = (size_t)(strrchr(s->given[g], '=') - s->given[g]);
        bool known = false;
        for (uint32_t i = 0; i < model->input_count; i++)
            known |= strlen(model->inputs[i].name) == length && memcmp(model->inputs[i].name, s->given[g], length) == 0;
        if (!known)
            return tools_fail(error, TOOLS_USAGE, "--input-shape %s: the model has no such input", s->given[g]);
    }
    for (uint32_t i = 0; i < model->input_count; i++)
        if (!find_shape(s, &model->inputs[i], &out[i], error))
            return false;
    return true;
}
