/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that passes the test of metacommands and then refuses one: shaders run the operator, with its constants, and
 * later ones, too. A driver that refuses the first one, as those before 580 do, is not asked for others. */
#include "api/dml_build.h"

#include "layer.h"

#include <vulkan/vulkan_core.h>

enum { SIDE = 256, COUNT = SIDE * SIDE, BYTES = COUNT * 2 };

static struct layer_control *layer;
static uint16_t a[COUNT], b[COUNT], want[COUNT], got[COUNT];

/* FLOAT16, of up to 2048. */
static uint16_t half_of(int x)
{
    const uint32_t n = (uint32_t)abs(x);
    uint32_t exponent = 0;
    while (n >> exponent > 1)
        exponent++;
    return n ? (uint16_t)((x < 0 ? 0x8000u : 0) | (exponent + 15) << 10 | ((n << 10 >> exponent) & 1023)) : 0;
}

static int value_a(int i)
{
    return i % 7 - 3;
}

static int value_b(int i)
{
    return i % 5 - 2;
}

static void fill(void)
{
    for (int i = 0; i < COUNT; i++) {
        int sum = 0;
        for (int k = 0; k < SIDE; k++)
            sum += value_a(i / SIDE * SIDE + k) * value_b(k * SIDE + i % SIDE);
        a[i] = half_of(value_a(i));
        b[i] = half_of(value_b(i));
        want[i] = half_of(sum);
    }
}

static IDMLOperator *product(IDMLDevice1 *dml)
{
    struct tensor tensor;
    const DML_TENSOR_DESC *desc = tensor_f32(&tensor, 1, 1, SIDE, SIDE, DML_TENSOR_FLAG_NONE);
    tensor.buffer.DataType = DML_TENSOR_DATA_TYPE_FLOAT16;
    tensor.buffer.TotalTensorSizeInBytes = BYTES;
    DML_GEMM_OPERATOR_DESC gemm = { .ATensor = desc, .BTensor = desc, .OutputTensor = desc, .Alpha = 1 };
    return make_operator(dml, DML_OPERATOR_GEMM, &gemm);
}

/* B is a constant, whose bytes are not needed once the graph is compiled. */
static IDMLCompiledOperator *product_of_constant(IDMLDevice1 *dml)
{
    struct build build;
    uint16_t *constant = malloc(BYTES);
    need(constant);
    memcpy(constant, b, BYTES);
    build_begin(&build, dml, 3, 1);
    add_node(&build, product(dml), "product");
    add_constant(&build, constant, BYTES);
    add_input(&build, 0, 0, 0);
    add_middle(&build, 1, 0, 0, 1);
    add_output(&build, 0, 0, 0);
    IDMLCompiledOperator *op = build_end(&build);
    memset(constant, 0xff, BYTES);
    free(constant);
    return op;
}

static void run(struct rig *rig, bool constant)
{
    IDMLCompiledOperator *op =
        constant ? product_of_constant(rig->dml) : compile(rig->dml, product(rig->dml), DML_EXECUTION_FLAG_NONE);
    struct bound in[3] = { buffer_of(rig, a, BYTES), buffer_of(rig, b, BYTES), { NULL, 0, 0 } };
    struct bound out = buffer_of(rig, got, BYTES);
    struct prepared prepared = prepare(rig, op, 0, NULL);
    IDMLBindingTable *table = table_at(rig, op, 0);
    bind_inputs(table, 3, constant ? (struct bound[]){ in[0], { NULL, 0, 0 }, { NULL, 0, 0 } } : in);
    bind_outputs(table, 1, &out);
    bind_prepared(table, &prepared);
    record(rig, op, table);
    rig_run(rig);
    api_read(&rig->q, out.buffer, 0, got, BYTES);
    rig_set_heap(rig);
    ok(!memcmp(got, want, BYTES), "another product");
    memset(got, 0xff, BYTES);
    api_release(table);
    api_release(in[0].buffer);
    api_release(in[1].buffer);
    api_release(out.buffer);
    prepared_release(&prepared);
    api_release(op);
}

int main(int count, char **arguments)
{
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    setenv("ANYDML_LAYER_KERNELS", "1", 1);
    api_begin();
    need(library);
    struct layer_control *(*control)(void);
    *(void **)&control = dlsym(library, "layer_control");
    layer = control();
    layer->calls[LAYER_KERNEL].result = VK_ERROR_INITIALIZATION_FAILED;
    layer->calls[LAYER_KERNEL].fail_at = 2; /* behind the one of the test */
    fill();
    struct rig rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    run(&rig, true);
    const uint32_t refused = layer->calls[LAYER_KERNEL].count;
    ok(refused > 1, "%u metacommands were asked for", refused);
    run(&rig, false);
    ok(layer->calls[LAYER_KERNEL].count == refused, "metacommands are asked for again");
    rig_destroy(&rig);
    layer->calls[LAYER_KERNEL].count = 0;
    layer->calls[LAYER_KERNEL].fail_at = 1;
    rig = rig_create(DML_CREATE_DEVICE_FLAG_NONE);
    run(&rig, false);
    ok(layer->calls[LAYER_KERNEL].count == 1, "more than the one of the test are asked for");
    rig_destroy(&rig);
    return api_end();
}
