/* The tile of product.h for one type and instruction set. The including file defines before:
 *   vec, number: a vector of sums and one sum; PRODUCT_LANES per vector, PRODUCT_VECS by PRODUCT_ROWS vectors per tile;
 *   product_set(pointer to a word): it in all lanes; product_get(pointer to PRODUCT_LANES words);
 *   product_add(sums, a, b): sums + a * b. */
#include "kernels/gemm/product.h"

#define PRODUCT_COLUMNS (PRODUCT_LANES * PRODUCT_VECS)

DENSE_INLINE void tile_vectors(const char *a, const char *b, uint64_t words, uint32_t count, uint32_t vectors,
                               number *sums, uint32_t step)
{
    vec total[PRODUCT_ROWS][PRODUCT_VECS];
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t v = 0; v < vectors; v++)
            total[r][v] = (vec){ 0 };
    for (uint64_t w = 0; w < words; w++) {
        vec right[PRODUCT_VECS];
        for (uint32_t v = 0; v < vectors; v++)
            right[v] = product_get(b + (w * PRODUCT_COLUMNS + v * PRODUCT_LANES) * sizeof(number));
        for (uint32_t r = 0; r < count; r++) {
            vec left = product_set(a + (r * words + w) * sizeof(number));
            for (uint32_t v = 0; v < vectors; v++)
                total[r][v] = product_add(total[r][v], left, right[v]);
        }
    }
    for (uint32_t r = 0; r < count; r++)
        for (uint32_t v = 0; v < vectors; v++)
            memcpy(sums + r * step + v * PRODUCT_LANES, &total[r][v], sizeof(vec));
}

DENSE_INLINE void tile_rows(const char *a, const char *b, uint64_t words, uint32_t count, uint32_t used, number *sums,
                            uint32_t step)
{
    if (used > PRODUCT_COLUMNS - PRODUCT_LANES)
        tile_vectors(a, b, words, count, PRODUCT_VECS, sums, step);
    else if (PRODUCT_VECS > 2 && used > 2 * PRODUCT_LANES)
        tile_vectors(a, b, words, count, 3, sums, step);
    else if (PRODUCT_VECS > 2 && used > PRODUCT_LANES)
        tile_vectors(a, b, words, count, 2, sums, step);
    else
        tile_vectors(a, b, words, count, 1, sums, step);
}

static void tile(const void *a, const void *b, uint64_t words, uint32_t count, uint32_t used, void *sums, uint32_t step)
{
    switch (count) {
    case 1:
        tile_rows(a, b, words, 1, used, sums, step);
        break;
    case 2:
        tile_rows(a, b, words, 2, used, sums, step);
        break;
    case 3:
        tile_rows(a, b, words, 3, used, sums, step);
        break;
#if PRODUCT_ROWS > 4
    case 4:
        tile_rows(a, b, words, 4, used, sums, step);
        break;
    case 5:
        tile_rows(a, b, words, 5, used, sums, step);
        break;
#endif
    default:
        tile_rows(a, b, words, PRODUCT_ROWS, used, sums, step);
        break;
    }
}
