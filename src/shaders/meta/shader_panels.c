/* SPDX-License-Identifier: Apache-2.0 */
/* Packs matrices for kernels of metacommands: panels for gemm_large.cu and conv_large.cu, fragments for gemm_mma.cu. */
#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/meta/shader_meta.h"

#include "base/parallel.h"

static uint32_t count(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

/* Rows whose neighbours are `step` apart. In packed form a column's elements are contiguous, `next` after those of the
 * previous column, and each group of eight columns is `group` after the previous one. `sums`: the order of columns of
 * gemm_meta_params.h, by which a lane has the sums of eight neighbours. */
struct lines {
    const uint16_t *rows[32];
    int64_t step;
    uint32_t columns, next, group;
    bool sums;
};

static inline void pack_lines(const struct lines *lines, uint32_t count, uint16_t *out)
{
    for (uint32_t n = 0; n < lines->columns; n++) {
        const uint32_t at = lines->sums ? n / 32 * 32 + n / 2 % 4 * 8 + n / 8 % 4 * 2 + n % 2 : n;
        uint16_t *to = out + (size_t)(at / 8) * lines->group + at % 8 * lines->next;
        for (uint32_t i = 0; i < count; i++)
            to[i] = lines->rows[i][n * lines->step];
    }
}

static const uint16_t *row_of(const struct shader_panels *b, uint32_t k)
{
    if (k >= b->k)
        return NULL;
    const int64_t at = b->row ? b->row(b->context, k) : (int64_t)k * b->along_k;
    return at < 0 ? NULL : b->from + at;
}

/* Rows k0 to k0 + 31 of B, and columns n0 to n0 + 255; elements outside stay zero. */
static void pack_panel(const struct shader_panels *b, uint32_t n0, uint32_t k0, uint16_t *out)
{
    struct lines lines = {
        .step = b->along_n, .columns = BASE_MIN(GEMM_PACKED_N, b->n - n0), .next = 8, .group = 128, .sums = true
    };
    for (uint32_t part = 0; part < 4; part++, out += part == 2 ? GEMM_PACKED_BYTES / 2 - 64 : 64) {
        const uint16_t *rows[8];
        bool whole = true;
        for (uint32_t i = 0; i < 8; i++) {
            rows[i] = row_of(b, k0 + i / 2 * 8 + part * 2 + i % 2);
            whole = whole && rows[i];
            lines.rows[i] = rows[i] ? rows[i] + (int64_t)n0 * b->along_n : NULL;
        }
        if (whole)
            pack_lines(&lines, 8, out); /* known to the compiler */
        for (uint32_t i = 0; !whole && i < 8; i++) {
            const uint16_t *row = lines.rows[i];
            lines.rows[0] = row;
            if (row)
                pack_lines(&lines, 1, out + i);
        }
    }
}

/* Panels of 256 columns. */
static void pack_some_panels(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct shader_panels *b = context;
    const size_t steps = count(b->k, GEMM_PACKED_K) * (GEMM_PACKED_K / 16);
    (void)worker;
    for (size_t panel = begin; panel < end; panel++)
        for (uint32_t k0 = 0; k0 < b->k; k0 += 32)
            pack_panel(b, (uint32_t)panel * GEMM_PACKED_N, k0,
                       b->to + (panel * steps + k0 / 16) * (GEMM_PACKED_BYTES / 2));
}

uint64_t shader_panels_bytes(uint32_t k, uint32_t n)
{
    return (uint64_t)count(n, GEMM_PACKED_N) * count(k, GEMM_PACKED_K) * (GEMM_PACKED_K / 16) * GEMM_PACKED_BYTES;
}

void shader_pack_panels(struct shader_panels *b)
{
    base_parallel_for(count(b->n, GEMM_PACKED_N), 1, pack_some_panels, b);
}

/* Of 32 rows. */
static void pack_some_fragments(void *context, size_t begin, size_t end, unsigned worker)
{
    const struct shader_panels *b = context;
    const uint32_t fragment = GEMM_FRAGMENT_BYTES / 2;
    struct lines lines = { .step = b->along_n, .columns = b->n, .next = 32, .group = count(b->k, 32) * fragment };
    (void)worker;
    for (size_t number = begin; number < end; number++) {
        const uint32_t k = (uint32_t)number * 32;
        for (uint32_t i = 0; i < 32; i++)
            lines.rows[i] = b->from + (int64_t)(k + i) * b->along_k;
        pack_lines(&lines, BASE_MIN(32, b->k - k), b->to + number * fragment);
    }
}

void shader_pack_fragments(struct shader_panels *b)
{
    base_parallel_for(count(b->k, 32), 1, pack_some_fragments, b);
}
