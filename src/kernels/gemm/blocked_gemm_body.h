/* SPDX-License-Identifier: Apache-2.0 */
/* The tile of blocked_gemm.h for one type and instruction set. The including file defines before:
 *   vec, number: a vector of sums and one sum; BLOCKED_GEMM_LANES per vector, BLOCKED_GEMM_VECS by BLOCKED_GEMM_ROWS
 * vectors per tile; blocked_gemm_set(pointer to a pack): it in all lanes; blocked_gemm_get(pointer to
 * BLOCKED_GEMM_LANES packs); blocked_gemm_add(sums, a, b): sums + a * b. */
#include "kernels/gemm/blocked_gemm.h"

#define BLOCKED_GEMM_COLUMNS (BLOCKED_GEMM_LANES * BLOCKED_GEMM_VECS)

DENSE_INLINE void tile_vectors(const char *a, const char *b, uint64_t packs, uint32_t count, uint32_t vectors,
                               number *sums, uint32_t step)
{
    vec total[BLOCKED_GEMM_ROWS][BLOCKED_GEMM_VECS];
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t v = 0; v < vectors; v++)
            total[r][v] = (vec){ 0 };
    for (uint64_t w = 0; w < packs; w++) {
        vec right[BLOCKED_GEMM_VECS];
        for (uint32_t v = 0; v < vectors; v++)
            right[v] = blocked_gemm_get(b + (w * BLOCKED_GEMM_COLUMNS + v * BLOCKED_GEMM_LANES) * sizeof(number));
        for (uint32_t r = 0; r < count; r++) {
            vec left = blocked_gemm_set(a + (r * packs + w) * sizeof(number));
            for (uint32_t v = 0; v < vectors; v++)
                total[r][v] = blocked_gemm_add(total[r][v], left, right[v]);
        }
    }
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t v = 0; v < vectors; v++)
            memcpy(sums + r * step + v * BLOCKED_GEMM_LANES, &total[r][v], sizeof(vec));
}

DENSE_INLINE void tile_rows(const char *a, const char *b, uint64_t packs, uint32_t count, uint32_t used, number *sums,
                            uint32_t step)
{
    if (used > BLOCKED_GEMM_COLUMNS - BLOCKED_GEMM_LANES)
        tile_vectors(a, b, packs, count, BLOCKED_GEMM_VECS, sums, step);
    else if (BLOCKED_GEMM_VECS > 2 && used > 2 * BLOCKED_GEMM_LANES)
        tile_vectors(a, b, packs, count, 3, sums, step);
    else if (BLOCKED_GEMM_VECS > 2 && used > BLOCKED_GEMM_LANES)
        tile_vectors(a, b, packs, count, 2, sums, step);
    else
        tile_vectors(a, b, packs, count, 1, sums, step);
}

static void tile(const void *a, const void *b, uint64_t packs, uint32_t count, uint32_t used, void *sums, uint32_t step)
{
    switch (count) {
    case 1:
        tile_rows(a, b, packs, 1, used, sums, step);
        break;
    case 2:
        tile_rows(a, b, packs, 2, used, sums, step);
        break;
    case 3:
        tile_rows(a, b, packs, 3, used, sums, step);
        break;
#if BLOCKED_GEMM_ROWS > 4
    case 4:
        tile_rows(a, b, packs, 4, used, sums, step);
        break;
    case 5:
        tile_rows(a, b, packs, 5, used, sums, step);
        break;
#endif
    default:
        tile_rows(a, b, packs, BLOCKED_GEMM_ROWS, used, sums, step);
        break;
    }
}
