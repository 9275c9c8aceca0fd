/* SPDX-License-Identifier: Apache-2.0 */
/* Random damage to valid descriptions: validation and copying must survive all of it. Run with sanitizers. What still
 * passes must keep the promises that kernels build on. Arguments: rounds, seed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schema/sample.h"
#include "schema/schema.h"
#include "test.h"

static struct schema_sample_storage storage;
static DML_OPERATOR_DESC desc;
static uint64_t state;
static unsigned long completed;

static uint32_t random_below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(((state >> 33) * limit) >> 31);
}

static uint32_t nasty(void)
{
    static const uint32_t values[] = { 0,          1,          2,          3,          4,
                                       5,          6,          7,          8,          9,
                                       12,         16,         64,         255,        256,
                                       65535,      65536,      65537,      1u << 30,   (1u << 30) + 1,
                                       0x7f800000, 0x7fc00000, 0x7fffffff, 0x80000000, 0x80000001,
                                       0xbf800000, 0xfffffffe, 0xffffffff };
    return values[random_below(sizeof(values) / sizeof(values[0]))];
}

static void damage_tensor(void)
{
    if (!storage.tensor_count)
        return;
    const uint32_t i = random_below(storage.tensor_count), axis = random_below(8);
    DML_BUFFER_TENSOR_DESC *tensor = &storage.buffers[i];
    switch (random_below(11)) {
    case 0:
        tensor->DataType = (DML_TENSOR_DATA_TYPE)random_below(16);
        break;
    case 1:
        tensor->Flags = (DML_TENSOR_FLAGS)random_below(3);
        break;
    case 2:
        tensor->DimensionCount = random_below(10);
        break;
    case 3:
        storage.sizes[i][axis] = nasty();
        break;
    case 4:
        storage.sizes[i][axis] += random_below(3) - 1;
        break;
    case 5:
        tensor->Strides = random_below(4) ? storage.strides[i] : NULL;
        break;
    case 6:
        tensor->Strides = storage.strides[i];
        storage.strides[i][axis] = nasty();
        break;
    case 7:
        tensor->TotalTensorSizeInBytes = schema_tensor_min_bytes(tensor) + (random_below(2) ? nasty() : 0);
        break;
    case 8:
        tensor->GuaranteedBaseOffsetAlignment = nasty();
        break;
    case 9:
        storage.tensors[i].Type = (DML_TENSOR_TYPE)random_below(3);
        break;
    default:
        if (random_below(2))
            storage.tensors[i].Desc = NULL;
        else
            tensor->Sizes = NULL;
        break;
    }
}

/* Numbers become nasty, pointers NULL, or one tensor takes the place of another. */
static void damage_field(const struct schema_op *op)
{
    const struct schema_field *field = &op->fields[random_below(op->field_count)];
    const uint32_t value = nasty();
    const void *pointer = NULL;
    const bool is_pointer = field->required || field->kind != SCHEMA_ATTRIBUTE || field->type == SCHEMA_SCALE_BIAS ||
                            field->type == SCHEMA_FUSED_ACTIVATION;
    if (field->type == SCHEMA_TENSOR && storage.tensor_count && random_below(2))
        pointer = &storage.tensors[random_below(storage.tensor_count)];
    memcpy((char *)storage.desc + field->offset, is_pointer ? (const void *)&pointer : (const void *)&value,
           is_pointer ? sizeof(pointer) : sizeof(value));
}

static void damage_array(void)
{
    const uint32_t i = random_below(storage.array_count), k = random_below(8);
    storage.arrays[i][k] = nasty();
}

static void damage_activation(void)
{
    const uint32_t i = random_below(SCHEMA_SAMPLE_ACTIVATIONS);
    memset(storage.activation_descs[i], 0, sizeof(storage.activation_descs[i])); /* no pointers of another struct */
    storage.activations[i].Type = (DML_OPERATOR_TYPE)random_below(180);
    if (!random_below(8))
        storage.activations[i].Desc = NULL;
}

static void damage(const struct schema_op *op)
{
    const uint32_t kind = random_below(10);
    if (kind < 5)
        damage_tensor();
    else if (kind < 8)
        damage_field(op);
    else if (kind < 9 && storage.array_count)
        damage_array();
    else
        damage_activation();
}

static void test_promises(const DML_BUFFER_TENSOR_DESC *tensor, const char *name)
{
    uint32_t strides[SCHEMA_MAX_RANK];
    uint64_t last = 0;
    if (!tensor)
        return;
    TEST_FOR(tensor->DimensionCount >= 1 && tensor->DimensionCount <= SCHEMA_MAX_RANK, "%s", name);
    schema_tensor_strides(tensor, strides);
    for (uint32_t i = 0; i < tensor->DimensionCount; i++) {
        TEST_FOR(tensor->Sizes[i] >= 1, "%s", name);
        last += (uint64_t)(tensor->Sizes[i] - 1) * strides[i];
    }
    const uint64_t bits = (last + 1) * schema_data_type_bits(tensor->DataType);
    TEST_FOR(bits && last < UINT32_MAX && (bits + 7) / 8 <= tensor->TotalTensorSizeInBytes, "%s", name);
    TEST_FOR(tensor->TotalTensorSizeInBytes % 4 == 0, "%s", name);
}

/* Leaves the sizes of outputs open; a set of the tensors. */
static uint32_t open_outputs(const struct schema_op *op)
{
    uint32_t opened = 0;
    for (uint32_t i = 0; i < op->field_count; i++) {
        const struct schema_field *field = &op->fields[i];
        const DML_TENSOR_DESC *tensors;
        memcpy(&tensors, (const char *)storage.desc + field->offset, sizeof(tensors));
        if (field->kind != SCHEMA_OUTPUT || !tensors)
            continue;
        for (uint32_t k = 0; k < schema_array_length(field, storage.desc); k++) {
            const ptrdiff_t at = (const DML_BUFFER_TENSOR_DESC *)tensors[k].Desc - storage.buffers;
            storage.buffers[at].DimensionCount = 0;
            storage.buffers[at].Strides = NULL;
            storage.buffers[at].TotalTensorSizeInBytes = 0;
            opened |= UINT32_C(1) << at;
        }
    }
    return opened;
}

/* The sizes that follow from a valid description are those that it had, except for leading ones. */
static bool run_inference(const struct schema_op *op, DML_FEATURE_LEVEL level)
{
    static struct schema_sample_storage given;
    struct schema_error error;
    memcpy(&given, &storage, sizeof(given));
    const uint32_t opened = open_outputs(op);
    const bool inferred = schema_infer(&desc, level, &error) == S_OK;
    TEST_FOR(inferred || strstr(error.text, op->name) == error.text, "%s", error.text);
    for (uint32_t i = 0; inferred && i < storage.tensor_count; i++) {
        const uint32_t had = given.buffers[i].DimensionCount, has = storage.buffers[i].DimensionCount;
        if (!(opened >> i & 1))
            continue;
        test_promises(&storage.buffers[i], op->name);
        for (uint32_t k = 1; k <= had || k <= has; k++) {
            const UINT size = k <= had ? given.sizes[i][had - k] : 1;
            TEST_FOR(size == (k <= has ? storage.sizes[i][has - k] : 1), "%s: tensor %u", op->name, i);
        }
    }
    memcpy(&storage, &given, sizeof(given));
    return inferred;
}

static bool run_one(void)
{
    const struct schema_op *op = schema_op_at(random_below(schema_op_count()));
    static const DML_FEATURE_LEVEL levels[] = { DML_FEATURE_LEVEL_6_4, DML_FEATURE_LEVEL_6_4, DML_FEATURE_LEVEL_6_4,
                                                DML_FEATURE_LEVEL_5_0, DML_FEATURE_LEVEL_2_1 };
    const DML_FEATURE_LEVEL level = levels[random_below(sizeof(levels) / sizeof(levels[0]))];
    struct schema_error error;
    struct schema_desc *copy;
    schema_sample(op->type, &storage, &desc);
    for (uint32_t n = 1 + random_below(4); n; n--)
        damage(op);
    if (schema_validate(&desc, level, &error) != S_OK) {
        TEST_FOR(error.id != SCHEMA_ERROR_NONE && strstr(error.text, op->name) == error.text, "%s", error.text);
        return false;
    }
    completed += run_inference(op, level);
    if (!TEST(schema_desc_create(&desc, &copy) == S_OK))
        return false;
    memset(&storage, 0xa5, sizeof(storage));
    for (uint32_t i = 0; i < copy->input_count; i++)
        test_promises(copy->inputs[i], op->name);
    for (uint32_t i = 0; i < copy->output_count; i++)
        test_promises(copy->outputs[i], op->name);
    TEST_FOR(schema_validate(&copy->desc, level, &error) == S_OK, "%s", error.text);
    schema_desc_destroy(copy);
    return true;
}

int main(int argc, char **argv)
{
    const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
    unsigned long passed = 0;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    fprintf(stderr, "%lu rounds, seed %" PRIu64 "\n", rounds, state);
    for (unsigned long i = 0; i < rounds; i++)
        passed += run_one();
    fprintf(stderr, "%lu descriptions were still valid, the outputs of %lu followed\n", passed, completed);
    TEST(rounds < 1000 || completed > passed / 2);
    TEST(rounds < 1000 || (passed > rounds / 50 && passed < rounds / 2));
    return test_result();
}
