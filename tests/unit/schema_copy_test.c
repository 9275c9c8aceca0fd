/* SPDX-License-Identifier: Apache-2.0 */
/* The deep copy of every operator's description: equal field by field, free of the source, slots in order. */
#include <string.h>

#include "schema/sample.h"
#include "schema/schema.h"
#include "test.h"

static struct schema_sample_storage source, same; /* described alike; the first is overwritten after the copy */

static bool inside_source(const void *pointer)
{
    return (const char *)pointer >= (const char *)&source && (const char *)pointer < (const char *)(&source + 1);
}

static const void *pointer_at(const void *desc, uint32_t offset)
{
    const void *pointer;
    memcpy(&pointer, (const char *)desc + offset, sizeof(pointer));
    return pointer;
}

static bool same_array(const void *a, const void *b, size_t bytes)
{
    if (!bytes || !a || !b)
        return !a == !b || !bytes;
    return !inside_source(a) && !memcmp(a, b, bytes);
}

static bool same_tensor(const DML_TENSOR_DESC *a, const DML_TENSOR_DESC *b)
{
    const DML_BUFFER_TENSOR_DESC *x = a->Desc, *y = b->Desc;
    return a->Type == b->Type && !inside_source(a) && !inside_source(x) && x->DataType == y->DataType &&
           x->Flags == y->Flags && x->DimensionCount == y->DimensionCount &&
           same_array(x->Sizes, y->Sizes, y->DimensionCount * sizeof(UINT)) &&
           same_array(x->Strides, y->Strides, y->DimensionCount * sizeof(UINT)) &&
           x->TotalTensorSizeInBytes == (y->TotalTensorSizeInBytes & ~UINT64_C(3)) &&
           x->GuaranteedBaseOffsetAlignment == y->GuaranteedBaseOffsetAlignment;
}

static bool same_tensors(const DML_TENSOR_DESC *a, const DML_TENSOR_DESC *b, uint32_t count)
{
    if (!a || !b)
        return a == b;
    for (uint32_t i = 0; i < count; i++)
        if (!same_tensor(&a[i], &b[i]))
            return false;
    return true;
}

static size_t scalar_size(const struct schema_field *field)
{
    return field->type == SCHEMA_SCALAR || field->type == SCHEMA_SIZE_2D ? 8 : 4;
}

static bool same_struct(const struct schema_op *op, const void *a, const void *b);

static bool same_operators(const DML_OPERATOR_DESC *a, const DML_OPERATOR_DESC *b, uint32_t count)
{
    if (!a || !b)
        return a == b;
    for (uint32_t i = 0; i < count; i++)
        if (inside_source(&a[i]) || inside_source(a[i].Desc) || a[i].Type != b[i].Type ||
            !same_struct(schema_op_find(a[i].Type), a[i].Desc, b[i].Desc))
            return false;
    return true;
}

static bool same_field(const struct schema_field *field, const void *a, const void *b)
{
    const void *x = NULL, *y = NULL;
    const uint32_t count = schema_array_length(field, b);
    const bool scalar = field->type != SCHEMA_TENSOR && field->type != SCHEMA_SCALE_BIAS &&
                        field->type != SCHEMA_FUSED_ACTIVATION && !field->count_offset &&
                        field->type != SCHEMA_TENSOR_ARRAY;
    if (scalar)
        return !memcmp((const char *)a + field->offset, (const char *)b + field->offset, scalar_size(field));
    x = pointer_at(a, field->offset);
    y = pointer_at(b, field->offset);
    if (field->kind != SCHEMA_ATTRIBUTE)
        return same_tensors(x, y, count);
    if (field->type == SCHEMA_FUSED_ACTIVATION || field->type == SCHEMA_ACTIVATION_ARRAY)
        return same_operators(x, y, count);
    return same_array(x, y, field->type == SCHEMA_SCALE_BIAS ? sizeof(DML_SCALE_BIAS) : count * sizeof(UINT));
}

static bool same_struct(const struct schema_op *op, const void *a, const void *b)
{
    for (uint32_t i = 0; i < op->field_count; i++)
        if (!TEST_FOR(same_field(&op->fields[i], a, b), "%s: %s", op->name, op->fields[i].name))
            return false;
    return true;
}

/* The slots are the tensors of the copied struct, in declared order. */
static void test_slots(const struct schema_desc *copy, enum schema_kind kind, uint32_t count,
                       const DML_BUFFER_TENSOR_DESC *const *slots)
{
    uint32_t slot = 0;
    for (uint32_t i = 0; i < copy->op->field_count; i++) {
        const struct schema_field *field = &copy->op->fields[i];
        if (field->kind != kind)
            continue;
        const DML_TENSOR_DESC *tensors = pointer_at(copy->desc.Desc, field->offset);
        for (uint32_t k = 0; k < schema_array_length(field, copy->desc.Desc); k++, slot++)
            if (TEST_FOR(slot < count, "%s: %s", copy->op->name, field->name))
                TEST_FOR(slots[slot] == (tensors ? tensors[k].Desc : NULL), "%s: %s", copy->op->name, field->name);
    }
    TEST_FOR(slot == count, "%s", copy->op->name);
}

static void test_copy(DML_OPERATOR_TYPE type, const char *changes, bool strides)
{
    DML_OPERATOR_DESC desc, twin;
    struct schema_error error;
    struct schema_desc *copy;
    if (!TEST(schema_sample_with(type, changes, &source, &desc)) ||
        !TEST(schema_sample_with(type, changes, &same, &twin)))
        return;
    for (uint32_t i = 0; strides && i < source.tensor_count; i++) {
        source.buffers[i].Strides = source.strides[i];
        same.buffers[i].Strides = same.strides[i];
        source.buffers[i].TotalTensorSizeInBytes += 5; /* used rounded down to 4 */
        same.buffers[i].TotalTensorSizeInBytes += 5;
        source.buffers[i].GuaranteedBaseOffsetAlignment = same.buffers[i].GuaranteedBaseOffsetAlignment = 64;
    }
    TEST_FOR(schema_validate(&desc, DML_FEATURE_LEVEL_6_4, &error) == S_OK, "%s", error.text);
    if (!TEST(schema_desc_create(&desc, &copy) == S_OK))
        return;
    memset(&source, 0xa5, sizeof(source));
    TEST(copy->op == schema_op_find(type) && copy->desc.Type == type && !inside_source(copy->desc.Desc));
    same_struct(copy->op, copy->desc.Desc, twin.Desc);
    test_slots(copy, SCHEMA_INPUT, copy->input_count, copy->inputs);
    test_slots(copy, SCHEMA_OUTPUT, copy->output_count, copy->outputs);
    TEST_FOR(schema_validate(&copy->desc, DML_FEATURE_LEVEL_6_4, &error) == S_OK, "%s", error.text);
    schema_desc_destroy(copy);
}

static void test_casts(void)
{
    DML_OPERATOR_DESC desc;
    struct schema_desc *copy;
    schema_sample(DML_OPERATOR_GEMM, &source, &desc);
    TEST(schema_desc_create(&desc, &copy) == S_OK);
    const DML_GEMM_OPERATOR_DESC *gemm = copy->desc.Desc;
    TEST(gemm->Alpha == 1 && copy->input_count == 3 && copy->output_count == 1);
    TEST(copy->inputs[1] == gemm->BTensor->Desc && copy->outputs[0]->Sizes[3] == 6 && !copy->inputs[0]->Strides);
    TEST(gemm->FusedActivation->Type == DML_OPERATOR_ACTIVATION_LEAKY_RELU);
    schema_desc_destroy(copy);

    schema_sample_with(DML_OPERATOR_GEMM, "CTensor=- FusedActivation=-", &source, &desc);
    TEST(schema_desc_create(&desc, &copy) == S_OK);
    TEST(copy->input_count == 3 && !copy->inputs[2] && copy->inputs[1]);
    schema_desc_destroy(copy);

    schema_sample(DML_OPERATOR_SPLIT, &source, &desc);
    TEST(schema_desc_create(&desc, &copy) == S_OK);
    TEST(copy->input_count == 1 && copy->output_count == 2 && copy->outputs[1]->Sizes[1] == 2);
    schema_desc_destroy(copy);
    schema_desc_destroy(NULL);
}

int main(void)
{
    for (uint32_t i = 0; i < schema_op_count(); i++) {
        test_copy(schema_op_at(i)->type, "", false);
        test_copy(schema_op_at(i)->type, "", true);
    }
    test_copy(DML_OPERATOR_LSTM, "BiasTensor=- PeepholeTensor=- OutputSequenceTensor=-", false);
    test_copy(DML_OPERATOR_REDUCE, "Axes=- AxisCount=0 OutputTensor=2x3x4x5", false);
    test_casts();
    return test_result();
}
