/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise programs that only choose among 16-bit numbers take them for integers (shaders/map): a device's
 * conversions may change the bits of a NaN. Programs that compute with them do not. */
#include "shaders/map/shader_map.h"

#include "test.h"

static const DML_TENSOR_DATA_TYPE f16 = DML_TENSOR_DATA_TYPE_FLOAT16, u8 = DML_TENSOR_DATA_TYPE_UINT8;

/* Tensors of one element: a condition of type `first`, then FLOAT16. */
static struct kern_op program(DML_TENSOR_DATA_TYPE first, uint32_t inputs)
{
    struct kern_op op = { .kind = KERN_MAP, .input_count = inputs, .output_count = 1 };
    for (uint32_t t = 0; t <= inputs; t++) {
        op.tensors[t] = (struct kern_view){ .type = t ? f16 : first, .rank = 1, .sizes = { 1 }, .strides = { 1 } };
        op.u.map.load_type[t] = DML_TENSOR_DATA_TYPE_FLOAT32;
    }
    return op;
}

/* Its result is stored. */
static void add(struct kern_op *op, enum kern_map_code code, uint8_t a, uint8_t b, uint8_t c)
{
    op->u.map.store[0] = (uint8_t)(op->input_count + op->u.map.inst_count);
    op->u.map.inst[op->u.map.inst_count++] = (struct kern_map_inst){
        .code = (uint8_t)code,
        .type = DML_TENSOR_DATA_TYPE_FLOAT32,
        .to_type = DML_TENSOR_DATA_TYPE_FLOAT32,
        .src = { a, b, c },
    };
}

static void check_bits(const struct kern_op *op, const char *what)
{
    struct kern_op storage;
    const struct kern_op *bits = shader_map_bits(op, &storage);
    if (!TEST_FOR(bits == &storage, "%s: still FLOAT16", what))
        return;
    const struct kern_map_inst *last = &bits->u.map.inst[op->u.map.inst_count - 1];
    TEST_FOR(bits->tensors[0].type == op->tensors[0].type, "%s: the condition has another type", what);
    for (uint32_t t = 1; t <= op->input_count; t++)
        TEST_FOR(bits->tensors[t].type == DML_TENSOR_DATA_TYPE_UINT16, "%s: tensor %u", what, t);
    for (uint32_t t = 1; t < op->input_count; t++)
        TEST_FOR(bits->u.map.load_type[t] == DML_TENSOR_DATA_TYPE_UINT32, "%s: register %u", what, t);
    TEST_FOR(last->type == DML_TENSOR_DATA_TYPE_UINT32 && last->to_type == DML_TENSOR_DATA_TYPE_UINT32, "%s", what);
}

static void check_numbers(const struct kern_op *op, const char *what)
{
    struct kern_op storage;
    TEST_FOR(shader_map_bits(op, &storage) == op, "%s: integers", what);
}

int main(void)
{
    struct kern_op op = program(u8, 3);
    add(&op, KERN_MAP_SELECT, 0, 1, 2);
    check_bits(&op, "select");

    op = program(u8, 3);
    add(&op, KERN_MAP_NOT, 0, 0, 0);
    add(&op, KERN_MAP_SELECT, 3, 1, 2);
    check_bits(&op, "not, select");

    op = program(u8, 3);
    add(&op, KERN_MAP_CONVERT, 0, 0, 0);
    op.u.map.load_type[0] = op.u.map.inst[0].type = DML_TENSOR_DATA_TYPE_UINT32;
    add(&op, KERN_MAP_SELECT, 3, 1, 2);
    check_bits(&op, "convert, select");

    op = program(f16, 3);
    add(&op, KERN_MAP_CONVERT, 0, 0, 0);
    add(&op, KERN_MAP_SELECT, 3, 1, 2);
    check_numbers(&op, "minus zero, converted");

    op = program(u8, 4);
    add(&op, KERN_MAP_SELECT, 0, 1, 2);
    add(&op, KERN_MAP_SELECT, 0, 4, 3);
    check_bits(&op, "select of select");

    op = program(u8, 3);
    add(&op, KERN_MAP_SELECT, 0, 1, 2);
    add(&op, KERN_MAP_ABS, 3, 0, 0);
    check_numbers(&op, "absolute value of what is chosen");

    op = program(f16, 3);
    add(&op, KERN_MAP_SELECT, 0, 1, 2);
    check_numbers(&op, "minus zero for a condition");

    op = program(u8, 3);
    add(&op, KERN_MAP_LT, 1, 2, 0);
    add(&op, KERN_MAP_SELECT, 3, 1, 2);
    check_numbers(&op, "the lesser of two");
    return test_result();
}
