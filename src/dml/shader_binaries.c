/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled shaders and metacommands: the code of each dispatch's pipeline. */
#include "dml/shader_binaries.h"

#include "shaders/shaders_spirv.h"

const bool dml_binaries_have_metacommands = SHADERS_METACOMMANDS != 0;

/* Packed: shaders/pack.c. */
struct binary {
    const uint8_t *code;
    uint32_t bytes, words;
};

static const struct binary shaders[SHADER_CODE_COUNT] = {
#define SHADER(name, family, source, needs, defines) { name##_code, sizeof(name##_code) - 1, name##_words },
#include "shaders/shaders.def"
#undef SHADER
};

/* The same for devices without SHADER_CAPABILITY_STORAGE. */
static const struct binary word_shaders[SHADER_CODE_COUNT] = {
#define WORDS_BASE(name)                                                                                               \
    {                                                                                                                  \
        name##_words_code, sizeof(name##_words_code) - 1, name##_words_words                                           \
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

static const char *const names[SHADER_CODE_COUNT] = {
#define SHADER(name, family, source, needs, defines) #name,
#include "shaders/shaders.def"
#undef SHADER
};

static const struct {
    const char *name;
    const uint8_t *cubin; /* packed */
    uint32_t packed, bytes, threads, shared;
} metas[SHADER_META_COUNT] = {
#if SHADERS_METACOMMANDS
#define META(name, source, threads, shared, defines)                                                                   \
    { #name, name##_cubin, sizeof(name##_cubin), name##_bytes, threads, shared },
#else /* -Dmetacommands=disabled: no device has the capability */
#define META(name, source, threads, shared, defines) { #name, NULL, 0, 0, threads, shared },
#endif
#include "shaders/cuda/metas.def"
#undef META
};

void dml_spirv_describe(const struct shader_dispatch *dispatch, bool large_table, struct adapter_pipeline_desc *out)
{
    const uint32_t number = dispatch->shader.number;
    if (dispatch->shader.form == SHADER_METACOMMAND) {
        *out = (struct adapter_pipeline_desc){ .code = ADAPTER_CODE_KERNEL,
                                               .name = metas[number].name,
                                               .packed = metas[number].cubin,
                                               .packed_bytes = metas[number].packed,
                                               .u.kernel = { .bytes = metas[number].bytes,
                                                             .threads = metas[number].threads,
                                                             .shared_bytes = metas[number].shared } };
        return;
    }
    const struct binary *binary = &(dispatch->shader.form == SHADER_SPIRV_WORDS ? word_shaders : shaders)[number];
    *out = (struct adapter_pipeline_desc){ .code = ADAPTER_CODE_SPIRV,
                                           .name = names[number],
                                           .packed = binary->code,
                                           .packed_bytes = binary->bytes,
                                           .u.spirv = { .words = binary->words,
                                                        .constant_count = dispatch->constant_count,
                                                        .constants = dispatch->constants,
                                                        .large_table = large_table } };
}
