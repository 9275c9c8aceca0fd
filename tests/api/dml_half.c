/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision: DirectML's flag does not change a bit of FLOAT32 tensors; AnyDML's own flag rounds their factors on
 * CPUs that multiply BFLOAT16. */
#include "dml_test.h"

#include "base/cpu.h"

#include <anydml.h>

#include <math.h>

#define COUNT 96 /* rows, columns and depth; of the convolution: channels */
#define SIDE  12

static float numbers[2][COUNT * COUNT * 9];

static void fill_numbers(void)
{
    UINT seed = 12345;
    for (UINT t = 0; t < 2; t++)
        for (UINT i = 0; i < sizeof(numbers[t]) / sizeof(float); i++) {
            seed = seed * 1664525u + 1013904223u;
            numbers[t][i] = (float)(seed >> 8) / 8388608.0f - 1;
        }
}

static IDMLOperator *convolution(struct rig *rig)
{
    static UINT x_sizes[] = { 1, COUNT, SIDE, SIDE }, w_sizes[] = { COUNT, COUNT, 3, 3 }, ones[] = { 1, 1 };
    static UINT zeros[] = { 0, 0 };
    DML_BUFFER_TENSOR_DESC x = { DML_TENSOR_DATA_TYPE_FLOAT32, 0, 4, x_sizes, NULL, COUNT * SIDE * SIDE * 4, 0 };
    DML_BUFFER_TENSOR_DESC w = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_OWNED_BY_DML, 4, w_sizes, NULL, COUNT * COUNT * 9 * 4, 0
    };
    DML_TENSOR_DESC tensors[] = { { DML_TENSOR_TYPE_BUFFER, &x }, { DML_TENSOR_TYPE_BUFFER, &w } };
    DML_CONVOLUTION_OPERATOR_DESC desc = { .InputTensor = &tensors[0],
                                           .FilterTensor = &tensors[1],
                                           .OutputTensor = &tensors[0],
                                           .Mode = DML_CONVOLUTION_MODE_CROSS_CORRELATION,
                                           .Direction = DML_CONVOLUTION_DIRECTION_FORWARD,
                                           .DimensionCount = 2,
                                           .Strides = ones,
                                           .Dilations = ones,
                                           .StartPadding = ones,
                                           .EndPadding = ones,
                                           .OutputPadding = zeros,
                                           .GroupCount = 1 };
    return make_operator(rig->dml, DML_OPERATOR_CONVOLUTION, &desc);
}

/* The first input is bound at execution, the second one owned. Consumes the reference on `made`. */
static void run(struct rig *rig, IDMLOperator *made, UINT inputs, const UINT *counts, DML_EXECUTION_FLAGS flags,
                float *out)
{
    IDMLCompiledOperator *op = compile(rig->dml, made, flags);
    struct bound x = buffer_of(rig, numbers[0], counts[0] * 4), w = buffer_of(rig, numbers[1], counts[1] * 4);
    struct bound y = buffer_of(rig, numbers[0], counts[2] * 4);
    struct bound owned[3] = { { NULL, 0, 0 }, w, { NULL, 0, 0 } }, bound[3] = { x, { NULL, 0, 0 }, { NULL, 0, 0 } };
    struct prepared prepared = prepare(rig, op, inputs, owned);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, inputs, bound);
    bind_outputs(table, 1, &y);
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    api_read(&rig->q, y.buffer, 0, out, counts[2] * 4);
    rig_set_heap(rig);
    ok_hr(dml_reason(rig), S_OK);
    api_release(table);
    prepared_release(&prepared);
    api_release(x.buffer);
    api_release(w.buffer);
    api_release(y.buffer);
    api_release(op);
}

static bool multiplies_bf16(void)
{
    return api_is("cpu") && base_cpu_flags() & BASE_CPU_AMX_BF16;
}

static void test_half(bool conv)
{
    static float exact[COUNT * SIDE * SIDE], got[COUNT * SIDE * SIDE];
    const UINT gemm_counts[] = { COUNT * COUNT, COUNT * COUNT, COUNT * COUNT };
    const UINT conv_counts[] = { COUNT * SIDE * SIDE, COUNT * COUNT * 9, COUNT * SIDE * SIDE };
    const UINT *counts = conv ? conv_counts : gemm_counts, inputs = 3;
    const DML_EXECUTION_FLAGS flags[] = { DML_EXECUTION_FLAG_NONE, DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION,
                                          ANYDML_EXECUTION_FLAG_HALF_PRECISION_FLOAT32 };
    const char *what = conv ? "convolution" : "product";
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    double worst = 0, most = 0;
    for (UINT f = 0; f < 3; f++) {
        IDMLOperator *op =
            conv ? convolution(&rig) : gemm_operator(rig.dml, COUNT, COUNT, COUNT, DML_TENSOR_FLAG_OWNED_BY_DML);
        run(&rig, op, inputs, counts, flags[f], f ? got : exact);
        if (f == 1)
            ok(!memcmp(got, exact, counts[2] * 4), "%s: DirectML's flag changed FLOAT32 results", what);
    }
    for (UINT i = 0; i < counts[2]; i++) {
        worst = fmax(worst, fabs((double)got[i] - exact[i]));
        most = fmax(most, fabs((double)exact[i]));
    }
    ok(worst <= 0x1p-7 * most, "%s: error %g of %g", what, worst, most);
    /* Planar convolutions that are alone stay in FLOAT32. */
    ok(conv || !multiplies_bf16() || worst > 0, "%s: the flag that allows half precision changed nothing", what);
    rig_destroy(&rig);
}

int main(void)
{
    fill_numbers();
    rig_part(test_half(false));
    rig_part(test_half(true));
    return rig_end();
}
