/* SPDX-License-Identifier: Apache-2.0 */
/* The table of shader kernels and the look-up in it. */
#include "shaders/shader.h"

#include "kernels/core/number.h"

enum { FAST, PORTABLE };

static const struct shader_row rows[] = {
#define ROW_OF(kind, name, max_ulp, speed, chain, pack)                                                                \
    { #name,                                                                                                           \
      KERN_##kind,                                                                                                     \
      max_ulp,                                                                                                         \
      (speed) == PORTABLE,                                                                                             \
      SHADER_CHAIN_##chain,                                                                                            \
      shader_##name##_unsupported,                                                                                     \
      shader_##name##_plan,                                                                                            \
      shader_##name##_write,                                                                                           \
      pack },
#define ROW(kind, name, max_ulp, speed, chain)       ROW_OF(kind, name, max_ulp, speed, chain, NULL)
#define ROW_PACKS(kind, name, max_ulp, speed, chain) ROW_OF(kind, name, max_ulp, speed, chain, shader_##name##_pack)
#include "shaders/rows.def"
#undef ROW_PACKS
#undef ROW
#undef ROW_OF
};

static const uint32_t needs[] = {
#define SHADER(name, family, source, needs, defines) SHADER_NEEDS_##needs,
#include "shaders/shaders.def"
#undef SHADER
};

void shader_adapt(struct shader_work *work, uint32_t capabilities)
{
    for (uint32_t i = 0; i < work->dispatch_count && !(capabilities & SHADER_CAPABILITY_STORAGE); i++)
        if (!shader_is_meta(&work->dispatches[i]))
            work->dispatches[i].shader.form = SHADER_SPIRV_WORDS;
}

static const char *lacking(const struct shader_work *work, uint32_t capabilities)
{
    uint32_t lacks = 0;
    for (uint32_t i = 0; i < work->dispatch_count; i++)
        lacks |= ~capabilities & (shader_is_meta(&work->dispatches[i]) ? SHADER_CAPABILITY_META
                                                                       : needs[work->dispatches[i].shader.number]);
    if (lacks & SHADER_CAPABILITY_META)
        return "the device lacks metacommands";
    if (lacks & SHADER_CAPABILITY_FLOAT64)
        return "the device lacks FLOAT64 arithmetic";
    if (lacks & (SHADER_CAPABILITY_COOP | SHADER_CAPABILITY_COOP_BFLOAT16 | SHADER_CAPABILITY_STORAGE))
        return "the device lacks cooperative matrices";
    if (lacks & SHADER_CAPABILITY_DOT)
        return "the device lacks integer dot products";
    if (lacks & SHADER_CAPABILITY_SUBGROUP)
        return "the device lacks subgroup shuffles";
    if (lacks & SHADER_CAPABILITY_SHARED)
        return "the device has too little shared memory per workgroup";
    if (lacks & SHADER_CAPABILITY_WIDE)
        return "the device's maximum workgroup size is too small";
    return lacks ? "the device lacks 64-bit integer arithmetic" : NULL;
}

/* Kinds whose shaders multiply positions in the scratch memory in 64 bits. */
static bool has_large_scratch(enum kern_kind kind)
{
    return kind == KERN_SORT || kind == KERN_POOL || kind == KERN_POOL_GRAD || kind == KERN_RECURRENT ||
           kind == KERN_ROI_GRAD;
}

/* Their kernels but the last, and metacommands, index arrays from the start of a tensor, and drivers multiply indices
 * by the size of an element in 32 bits. */
static bool indexes_arrays(const struct shader_row *row, const struct shader_work *work)
{
    static const bool kinds[KERN_KIND_COUNT] = {
        [KERN_GEMM] = true, [KERN_QGEMM] = true,     [KERN_CONV] = true,
        [KERN_POOL] = true, [KERN_ATTENTION] = true, [KERN_RECURRENT] = true,
    };
    const bool last = row + 1 == rows + ARRAY_SIZE(rows) || row[1].kind != row->kind;
    bool meta = false;
    for (uint32_t i = 0; i < work->dispatch_count; i++)
        meta |= shader_is_meta(&work->dispatches[i]);
    return meta || (kinds[row->kind] && !last);
}

static bool has_large_tensor(const struct kern_op *op)
{
    bool large = false;
    for (uint32_t t = 0; t < op->input_count + op->output_count; t++) {
        const struct kern_view *view = &op->tensors[t];
        uint64_t last = 0;
        for (uint32_t d = 0; d < view->rank; d++)
            last += view->strides[d] > 0 ? (uint64_t)view->strides[d] * (view->sizes[d] - 1) : 0;
        large |= (last + 1) * kern_type_bits(view->type) / 8 > UINT32_MAX;
    }
    return large;
}

bool shader_row_find(const struct shader_row *row, const struct kern_op *op, uint32_t capabilities,
                     struct shader_work *out, const char **out_reason)
{
    *out_reason = row->unsupported(op);
    if (*out_reason)
        return false;
    memset(out, 0, sizeof(*out));
    out->row = row;
    row->plan(op, out);
    if (op->flags & KERN_FLAG_REFERENCE)
        capabilities &= ~(uint32_t)SHADER_CAPABILITY_META;
    *out_reason = lacking(out, capabilities);
    if (!*out_reason && out->scratch_bytes > UINT32_MAX && !has_large_scratch(op->kind))
        *out_reason = "its shaders' scratch memory would exceed 4 GiB";
    if (!*out_reason && indexes_arrays(row, out) && has_large_tensor(op))
        *out_reason = "a tensor exceeds 4 GiB";
    shader_adapt(out, capabilities);
    return !*out_reason;
}

bool shader_find(const struct kern_op *op, uint32_t capabilities, struct shader_work *out, const char **out_reason)
{
    *out_reason = "no shader for this operation";
    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].kind == op->kind && shader_row_find(&rows[i], op, capabilities, out, out_reason))
            return true;
    return false;
}

const struct shader_row *shader_rows(uint32_t *out_count)
{
    *out_count = ARRAY_SIZE(rows);
    return rows;
}

uint32_t shader_commands(const struct shader_work *work)
{
    uint32_t count = work->dispatch_count;
    for (uint32_t i = 0; i < work->dispatch_count; i++)
        count += work->dispatches[i].repeats;
    return count;
}
