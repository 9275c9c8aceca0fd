/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the device runs metacommands. */
#include "dml/metacommands.h"

#include "dml/dispatch_spirv.h"
#include "dml/shader_binaries.h"

#include "base/half.h"
#include "base/log.h"
#include "shaders/cuda/meta_test_params.h"

enum { UNKNOWN, ON, OFF };

/* Small integers, so that sums are exact in any order. */
static void fill_test(uint16_t *a, uint16_t *b, float *y, float add)
{
    for (uint32_t i = 0; i < META_TEST_M * META_TEST_K; i++)
        a[i] = base_float_to_half((float)(i * 7 % 23) - 11);
    for (uint32_t i = 0; i < META_TEST_N * META_TEST_K; i++)
        b[i] = base_float_to_half((float)(i * 5 % 17) - 8);
    for (uint32_t i = 0; i < META_TEST_M * META_TEST_N; i++) {
        y[i] = add;
        for (uint32_t k = 0; k < META_TEST_K; k++)
            y[i] += base_half_to_float(a[i / META_TEST_N * META_TEST_K + k]) *
                    base_half_to_float(b[i % META_TEST_N * META_TEST_K + k]);
    }
}

static HRESULT test_device(struct dml_device *device)
{
    uint16_t a[META_TEST_M * META_TEST_K], b[META_TEST_N * META_TEST_K];
    float y[META_TEST_M * META_TEST_N];
    AnydmlDevice *d3d12 = device->d3d12;
    const struct shader_dispatch dispatch = { .shader = { SHADER_METACOMMAND, SHADER_META_meta_test } };
    const struct adapter_write inputs[] = { { 0, sizeof(a), a }, { 0, sizeof(b), b } };
    struct meta_test_params block = { .add = 0.5f };
    struct adapter_kernel_test test = { NULL, inputs, ARRAY_SIZE(inputs), &block, sizeof(block), y, sizeof(y) };
    struct adapter_pipeline_desc desc;
    fill_test(a, b, y, block.add);
    dml_spirv_describe(&dispatch, false, &desc);
    HRESULT hr = d3d12->lpVtbl->CreatePipelines(d3d12, &desc, 1, &test.pipeline);
    return SUCCEEDED(hr) ? d3d12->lpVtbl->TestKernel(d3d12, &test) : hr;
}

void dml_metacommands_off(struct dml_device *device)
{
    atomic_store(&device->metacommands, OFF);
}

uint32_t dml_shader_capabilities(struct dml_device *device)
{
    uint32_t capabilities = device->adapter->shader_capabilities;
    if (!dml_binaries_have_metacommands)
        capabilities &= ~(uint32_t)SHADER_CAPABILITY_META;
    if (!(capabilities & SHADER_CAPABILITY_META))
        return capabilities;
    if (atomic_load(&device->metacommands) == UNKNOWN) {
        HRESULT hr = test_device(device);
        int before = UNKNOWN;
        base_log(BASE_LOG_INFO, "metacommands: %s (0x%08x)", hr == S_OK ? "on" : "off", (unsigned)hr);
        atomic_compare_exchange_strong(&device->metacommands, &before, hr == S_OK ? ON : OFF);
    }
    if (atomic_load(&device->metacommands) != ON)
        capabilities &= ~(uint32_t)SHADER_CAPABILITY_META;
    return capabilities;
}
