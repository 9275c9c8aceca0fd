/* SPDX-License-Identifier: Apache-2.0 */
/* FusedActivation and ActivationDescs: every operator as an activation in every host, at the levels that matter. */
#include <string.h>

#include "schema/sample.h"
#include "schema/schema.h"
#include "test.h"

static struct schema_sample_storage storage;
static DML_OPERATOR_DESC host;
static DML_OPERATOR_DESC *activation; /* the first of the host */

/* The level from which a host may take the activation; 0: never. */
static uint32_t allowed_from(DML_OPERATOR_TYPE host_type, DML_OPERATOR_TYPE type)
{
    const bool recurrent = host_type >= DML_OPERATOR_RNN && host_type <= DML_OPERATOR_GRU;
    switch (type) {
    case DML_OPERATOR_ACTIVATION_ELU:
    case DML_OPERATOR_ACTIVATION_HARD_SIGMOID:
    case DML_OPERATOR_ACTIVATION_IDENTITY:
    case DML_OPERATOR_ACTIVATION_LEAKY_RELU:
    case DML_OPERATOR_ACTIVATION_LINEAR:
    case DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS:
    case DML_OPERATOR_ACTIVATION_RELU:
    case DML_OPERATOR_ACTIVATION_SCALED_ELU:
    case DML_OPERATOR_ACTIVATION_SCALED_TANH:
    case DML_OPERATOR_ACTIVATION_SIGMOID:
    case DML_OPERATOR_ACTIVATION_SOFTPLUS:
    case DML_OPERATOR_ACTIVATION_SOFTSIGN:
    case DML_OPERATOR_ACTIVATION_TANH:
    case DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU:
        return DML_FEATURE_LEVEL_1_0;
    case DML_OPERATOR_ACTIVATION_SHRINK:
        return DML_FEATURE_LEVEL_2_0;
    case DML_OPERATOR_ACTIVATION_CELU:
        return DML_FEATURE_LEVEL_3_0;
    case DML_OPERATOR_ACTIVATION_GELU:
        return DML_FEATURE_LEVEL_5_1;
    case DML_OPERATOR_ACTIVATION_HARDMAX:
        return recurrent ? DML_FEATURE_LEVEL_1_0 : 0;
    case DML_OPERATOR_ELEMENT_WISE_CLIP:
        return host_type == DML_OPERATOR_CONVOLUTION || host_type == DML_OPERATOR_GEMM ? DML_FEATURE_LEVEL_6_0 : 0;
    case DML_OPERATOR_ACTIVATION_SOFTMAX:
    case DML_OPERATOR_ACTIVATION_SOFTMAX1:
        return host_type == DML_OPERATOR_GEMM ? DML_FEATURE_LEVEL_6_1 : 0;
    default:
        return 0;
    }
}

/* A fresh host with that activation, all of its attributes 0 except for what must not be. */
static bool make_host(DML_OPERATOR_TYPE host_type, DML_OPERATOR_TYPE type)
{
    const float one = 1;
    if (!schema_sample(host_type, &storage, &host))
        return false;
    activation = storage.activations;
    memset(storage.activation_descs[0], 0, sizeof(storage.activation_descs[0]));
    *activation = (DML_OPERATOR_DESC){ type, storage.activation_descs[0] };
    if (type == DML_OPERATOR_ACTIVATION_SOFTPLUS)
        memcpy((char *)storage.activation_descs[0] + offsetof(DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, Steepness), &one,
               sizeof(one));
    return true;
}

static bool takes(uint32_t level, struct schema_error *error)
{
    return schema_validate(&host, (DML_FEATURE_LEVEL)level, error) == S_OK;
}

static void test_pair(const struct schema_op *op, const char *field, DML_OPERATOR_TYPE type)
{
    static const uint32_t levels[] = { DML_FEATURE_LEVEL_4_1, DML_FEATURE_LEVEL_5_2, DML_FEATURE_LEVEL_6_0,
                                       DML_FEATURE_LEVEL_6_1, DML_FEATURE_LEVEL_6_4 };
    const uint32_t from = allowed_from(op->type, type);
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct schema_error error;
        if (levels[i] < (uint32_t)op->level || !TEST(make_host(op->type, type)))
            continue;
        const bool good = takes(levels[i], &error);
        TEST_FOR(good == (from && from <= levels[i]), "%s in %s at %x: %s", schema_op_find(type)->name, op->name,
                 levels[i], error.text);
        TEST_FOR(good || (error.id == SCHEMA_ERROR_ACTIVATION && strstr(error.text, op->name) == error.text &&
                          strstr(error.text, field) && strstr(error.text, schema_op_find(type)->name)),
                 "%s", error.text);
    }
}

static unsigned test_host(const struct schema_op *op)
{
    unsigned hosts = 0;
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (op->fields[i].type != SCHEMA_FUSED_ACTIVATION && op->fields[i].type != SCHEMA_ACTIVATION_ARRAY)
            continue;
        hosts++;
        for (uint32_t k = 0; k < schema_op_count(); k++)
            test_pair(op, op->fields[i].name, schema_op_at(k)->type);
    }
    return hosts;
}

static void refused(enum schema_error_id id, const char *text)
{
    struct schema_error error;
    TEST(!takes(DML_FEATURE_LEVEL_6_4, &error));
    TEST_FOR(error.id == id && strstr(error.text, text), "\"%s\" in \"%s\"", text, error.text);
}

static void test_contents(void)
{
    struct schema_error error;
    const DML_TENSOR_DESC *tensor = storage.tensors;
    make_host(DML_OPERATOR_GEMM, DML_OPERATOR_ACTIVATION_RELU);
    memcpy((char *)storage.activation_descs[0] + offsetof(DML_ACTIVATION_RELU_OPERATOR_DESC, OutputTensor), &tensor,
           sizeof(tensor));
    refused(SCHEMA_ERROR_ACTIVATION, "FusedActivation: DML_OPERATOR_ACTIVATION_RELU: OutputTensor: not NULL");
    make_host(DML_OPERATOR_GEMM, DML_OPERATOR_ACTIVATION_RELU);
    memcpy((char *)storage.activation_descs[0] + offsetof(DML_ACTIVATION_RELU_OPERATOR_DESC, InputTensor), &tensor,
           sizeof(tensor));
    refused(SCHEMA_ERROR_ACTIVATION, "FusedActivation: DML_OPERATOR_ACTIVATION_RELU: InputTensor: not NULL");
    make_host(DML_OPERATOR_GEMM, DML_OPERATOR_ACTIVATION_RELU);
    activation->Desc = NULL;
    refused(SCHEMA_ERROR_ACTIVATION, "FusedActivation: Desc = NULL");
    make_host(DML_OPERATOR_GEMM, DML_OPERATOR_ACTIVATION_RELU);
    activation->Type = (DML_OPERATOR_TYPE)4711;
    refused(SCHEMA_ERROR_ACTIVATION, "FusedActivation: Type = unknown (4711)");
    make_host(DML_OPERATOR_LSTM, DML_OPERATOR_ACTIVATION_RELU);
    activation[5].Type = DML_OPERATOR_GEMM;
    refused(SCHEMA_ERROR_ACTIVATION, "ActivationDescs[5]: Type = DML_OPERATOR_GEMM (54)");

    /* The axes of a fused softmax belong to the host's output. */
    UINT axes[] = { 3, 3 };
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC softmax = { .AxisCount = 1, .Axes = axes };
    make_host(DML_OPERATOR_GEMM, DML_OPERATOR_ACTIVATION_SOFTMAX1);
    activation->Desc = &softmax;
    TEST(takes(DML_FEATURE_LEVEL_6_4, &error));
    softmax.AxisCount = 2;
    refused(SCHEMA_ERROR_AXIS, "DML_OPERATOR_ACTIVATION_SOFTMAX1: Axes[1] = 3, must not be repeated");
    axes[1] = 4;
    refused(SCHEMA_ERROR_AXIS, "Axes[1] = 4, must be below the dimension count (4)");
    softmax.Axes = NULL;
    refused(SCHEMA_ERROR_ARRAY_NULL, "Axes: NULL");
}

static void test_steepness(void)
{
    struct schema_error error;
    DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC softplus = { .Steepness = 0.5f };
    make_host(DML_OPERATOR_CONVOLUTION, DML_OPERATOR_ACTIVATION_SOFTPLUS);
    activation->Desc = &softplus;
    TEST(takes(DML_FEATURE_LEVEL_6_4, &error));
    TEST(!takes(DML_FEATURE_LEVEL_6_3, &error) && error.id == SCHEMA_ERROR_ATTRIBUTE_RANGE);
    TEST(strstr(error.text,
                "DML_OPERATOR_CONVOLUTION: FusedActivation: DML_OPERATOR_ACTIVATION_SOFTPLUS: Steepness = 0.5"));
    softplus.Steepness = 0; /* a client's zeroed struct */
    make_host(DML_OPERATOR_RNN, DML_OPERATOR_ACTIVATION_SOFTPLUS);
    activation->Desc = &softplus;
    TEST(takes(DML_FEATURE_LEVEL_1_0, &error));
}

int main(void)
{
    unsigned hosts = 0;
    for (uint32_t i = 0; i < schema_op_count(); i++)
        hosts += test_host(schema_op_at(i));
    TEST(hosts == 11); /* eight fuse, three are recurrent */
    test_contents();
    test_steepness();
    return test_result();
}
