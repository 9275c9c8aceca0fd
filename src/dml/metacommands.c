/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled shaders and metacommands, and whether the device runs the latter. */
#include "dml/metacommands.h"

#include "dml/dispatch_spirv.h"

#include "base/half.h"
#include "base/log.h"
#include "shaders/cuda/meta_test_params.h"

#include "shaders/shaders_spirv.h"

static const struct {
    const uint8_t *code; /* packed: shaders/pack.c */
    uint32_t bytes, words;
} shaders[] = {
#define SHADER(name, family, source, needs, defines) { name##_code, sizeof(name##_code), name##_words },
#include "shaders/shaders.def"
#undef SHADER
#define WORDS_BASE(name)                                                                                               \
    {                                                                                                                  \
        name##_words_code, sizeof(name##_words_code), name##_words_words                                               \
    }
#define WORDS_INT64(name)           WORDS_BASE(name)
#define WORDS_FLOAT64(name)         WORDS_BASE(name)
#define WORDS_SUBGROUP(name)        WORDS_BASE(name)
#define WORDS_SHARED(name)          WORDS_BASE(name)
#define WORDS_WIDE(name)            WORDS_BASE(name)
#define WORDS_DOT(name)             WORDS_BASE(name)
#define WORDS_DOT_SHARED(name)      WORDS_BASE(name)
#define WORDS_SUBGROUP_SHARED(name) WORDS_BASE(name)
#define WORDS_COOP(name)                                                                                               \
    {                                                                                                                  \
        NULL, 0, 0 /* needs STORAGE */                                                                                 \
    }
#define WORDS_COOP_BFLOAT16(name)                    WORDS_COOP(name)
#define SHADER(name, family, source, needs, defines) WORDS_##needs(name),
#include "shaders/shaders.def"
#undef SHADER
};

static const char *const names[] = {
#define SHADER(name, family, source, needs, defines) #name,
#include "shaders/shaders.def"
#undef SHADER
};

static const struct {
    const char *name;
    const uint8_t *text; /* packed */
    uint32_t packed, bytes, threads, shared;
} metas[] = {
#if SHADERS_METACOMMANDS
#define META(name, source, threads, shared, defines)                                                                   \
    { #name, name##_ptx, sizeof(name##_ptx), name##_bytes, threads, shared },
#else /* -Dmetacommands=disabled: no device has the capability, below */
#define META(name, source, threads, shared, defines) { #name, NULL, 0, 0, threads, shared },
#endif
#include "shaders/cuda/metas.def"
#undef META
};

void dml_spirv_describe(const struct shader_dispatch *dispatch, struct adapter_pipeline_desc *out)
{
    const uint32_t code = dispatch->code, meta = code - (SHADER_META_BEFORE + 1);
    if (shader_is_meta(dispatch))
        *out = (struct adapter_pipeline_desc){ .code = metas[meta].text,
                                               .code_bytes = metas[meta].packed,
                                               .words = metas[meta].bytes,
                                               .threads = metas[meta].threads,
                                               .shared_bytes = metas[meta].shared };
    else
        *out = (struct adapter_pipeline_desc){ shaders[code].code,
                                               shaders[code].bytes,
                                               shaders[code].words,
                                               dispatch->constants,
                                               dispatch->constant_count,
                                               0,
                                               0 };
    out->name = shader_is_meta(dispatch) ? metas[meta].name : names[code % SHADER_CODE_COUNT];
}

/* ---- whether they work ---- */

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
    const struct shader_dispatch dispatch = { .code = SHADER_META_meta_test };
    const struct adapter_write inputs[] = { { 0, sizeof(a), a }, { 0, sizeof(b), b } };
    struct meta_test_params block = { .add = 0.5f };
    struct adapter_kernel_test test = { NULL, inputs, ARRAY_SIZE(inputs), &block, sizeof(block), y, sizeof(y) };
    struct adapter_pipeline_desc desc;
    fill_test(a, b, y, block.add);
    dml_spirv_describe(&dispatch, &desc);
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
    if (!SHADERS_METACOMMANDS)
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
