/* SPDX-License-Identifier: Apache-2.0 */
/* libpydirectml without Python, so that sanitizers see it: devices, models with owned inputs and gaps, runs, errors. */
#include "../../bindings/pydirectml/pydml.h"

#include <stdio.h>
#include <string.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\n", __LINE__, #condition);                                                             \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static int failures;

/* y = x * w, and y + 1, of three bytes or numbers; input 1 is missing, 2 owned. */
static struct pydml_model *make(struct pydml_device *device, DML_TENSOR_DATA_TYPE type, uint64_t bytes)
{
    const struct pydml_slot in[] = { { bytes, 0 }, { 0, 0 }, { bytes, 1 } }, out[] = { { bytes, 0 }, { bytes, 0 } };
    const UINT sizes[] = { 3 };
    struct anydml_graph *graph = NULL;
    struct pydml_model *model = NULL;
    IDMLCompiledOperator *compiled = NULL;
    CHECK(AnydmlGraphCreate(pydml_device_dml(device), &graph) == S_OK);
    anydml_expr x = AnydmlGraphInput(graph, 0, type, 1, sizes), w = AnydmlGraphOwnedInput(graph, 2, type, 1, sizes);
    anydml_expr y = AnydmlMultiply(graph, x, w), outputs[] = { y, AnydmlAdd(graph, y, x) };
    AnydmlExp(graph, AnydmlGraphInput(graph, 1, F32, 1, sizes), NULL); /* leads nowhere */
    CHECK(AnydmlGraphCompile(graph, DML_EXECUTION_FLAG_NONE, 2, outputs, &compiled) == S_OK);
    CHECK(pydml_model_create(device, compiled, in, 3, out, 2, &model) == S_OK);
    AnydmlGraphDestroy(graph);
    return model;
}

static void test_floats(struct pydml_device *device)
{
    struct pydml_model *model = make(device, F32, 12);
    float x[3] = { 1, 2, 3 }, w[3] = { 4, 5, 6 }, y[2][3];
    const struct pydml_memory in[] = { { x, sizeof(x) }, { NULL, 0 }, { w, sizeof(w) } };
    const struct pydml_memory out[] = { { y[0], sizeof(y[0]) }, { y[1], sizeof(y[1]) } };
    for (int i = 0; i < 3; i++) {
        memset(y, 0, sizeof(y));
        x[0] = (float)i;
        CHECK(pydml_model_run(model, in, out) == S_OK);
        CHECK(y[0][0] == 4 * x[0] && y[0][2] == 18 && y[1][0] == 5 * x[0] && y[1][1] == 12);
        w[0] = w[1] = w[2] = 100; /* was read by the first run */
    }
    pydml_model_destroy(model);
}

/* Memory that ends with the last element, before a tensor's multiple of 4. */
static void test_bytes(struct pydml_device *device)
{
    struct pydml_model *model = make(device, DML_TENSOR_DATA_TYPE_UINT8, 4);
    unsigned char x[3] = { 1, 2, 3 }, w[3] = { 4, 5, 6 }, y[3], z[4] = { 0, 0, 0, 77 };
    const struct pydml_memory in[] = { { x, 3 }, { NULL, 0 }, { w, 3 } }, out[] = { { y, 3 }, { z, 3 } };
    CHECK(pydml_model_run(model, in, out) == S_OK && y[0] == 4 && y[2] == 18 && z[1] == 12 && z[3] == 77);
    pydml_model_destroy(model);
}

/* Memory that is shorter than the tensor, inputs and outputs in turn, is refused before anything is read or written. */
static void test_short_memory(struct pydml_device *device)
{
    struct pydml_model *model = make(device, F32, 12);
    float x[3] = { 1, 2, 3 }, w[3] = { 4, 5, 6 }, y[3] = { 0 }, z[3] = { 0 };
    for (int shorter = 0; shorter < 5; shorter++) {
        struct pydml_memory in[] = { { x, 12 }, { NULL, 0 }, { w, 12 } }, out[] = { { y, 12 }, { z, 12 } };
        struct pydml_memory *all[] = { &in[0], &in[2], &out[0], &out[1] };
        if (shorter < 4)
            all[shorter]->bytes = 8;
        CHECK(pydml_model_run(model, in, out) == (shorter < 4 ? E_INVALIDARG : S_OK));
        CHECK(y[2] == (shorter < 4 ? 0 : 18) && z[2] == (shorter < 4 ? 0 : 21));
    }
    struct pydml_memory in[] = { { x, 12 }, { NULL, 0 }, { NULL, 0 } }, out[] = { { y, 12 }, { NULL, 12 } };
    CHECK(pydml_model_run(model, in, out) == E_INVALIDARG);
    out[1].data = z;
    CHECK(pydml_model_run(model, in, out) == S_OK); /* the owned input is not looked at again */
    pydml_model_destroy(model);
}

int main(void)
{
    struct pydml_device *device = NULL;
    char message[64];
    CHECK(pydml_adapter_count() >= 1);
    CHECK(pydml_device_create(1000, 0, 0, &device) == DXGI_ERROR_NOT_FOUND && !device);
    for (int32_t index = -1; index < 1; index++) {
        CHECK(pydml_device_create(index, 1, 1, &device) == S_OK);
        if (!device)
            break;
        CHECK(*pydml_device_name(device) && pydml_device_is_gpu(device) <= 1);
        test_floats(device);
        test_bytes(device);
        test_short_memory(device);
        pydml_device_message(device, message, sizeof(message));
        CHECK(!*message);
        pydml_device_destroy(device);
    }
    pydml_model_destroy(NULL);
    pydml_device_destroy(NULL);
    return failures != 0;
}
