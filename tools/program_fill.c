/* SPDX-License-Identifier: Apache-2.0 */
/* Random inputs, always the same. */
#include "tools/program.h"

#include "base/half.h"

/* xorshift64*: the same numbers on every machine. */
static uint32_t fill_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * 0x2545F4914F6CDD1Dull >> 32);
}

/* Floats from 0 to 1; integers 0 or 1, which are valid as indices, masks and flags alike. */
static void fill_array(struct tools_array *array, uint64_t *state)
{
    uint64_t count = tools_array_count(array);
    uint32_t size = onnx_type_bytes(array->type);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits = fill_random(state);
        float unit = (float)(bits >> 8) / 16777216.0f;
        if (array->type == ONNX_FLOAT)
            ((float *)array->data)[i] = unit;
        else if (array->type == ONNX_DOUBLE)
            ((double *)array->data)[i] = unit;
        else if (array->type == ONNX_FLOAT16)
            ((uint16_t *)array->data)[i] = base_float_to_half(unit);
        else
            ((uint8_t *)array->data)[i * size] = bits & 1; /* the lowest byte */
    }
}

bool tools_program_fill(struct tools_program *program, struct tools_error *error)
{
    uint64_t state = 88172645463325252ull;
    for (uint32_t i = 0; i < program->onnx->input_count; i++) {
        const struct onnx_port *port = &program->onnx->inputs[i];
        struct tools_array array;
        int64_t dims[ONNX_RANK_MAX];
        for (uint32_t d = 0; d < port->rank; d++)
            dims[d] = port->sizes[d];
        if (!tools_array_init(&array, port->onnx_type, port->rank, dims, error))
            return false;
        fill_array(&array, &state);
        bool ok = tools_program_set_input(program, i, &array, error);
        tools_array_finish(&array);
        if (!ok)
            return false;
    }
    return true;
}
