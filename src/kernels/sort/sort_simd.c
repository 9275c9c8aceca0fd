/* SPDX-License-Identifier: Apache-2.0 */
/* Elements to sort keys and back, in loops that become vectors. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/sort/sort.h"

/* Floats order like sign-magnitude numbers; NaNs get the greatest key, both zeros the same. */
#define SORT_TYPE(bits, key)                                                                                           \
    static void encode_##bits(const struct kern_sort_code *code, const void *elements, uint32_t count, void *into)     \
    {                                                                                                                  \
        const key sign = (key)code->sign, mask = (key)code->mask, infinity = (key)code->infinity;                      \
        const key flip = (key)code->flip;                                                                              \
        const uint##bits##_t *x = elements;                                                                            \
        key *keys = into;                                                                                              \
        const bool is_float = code->is_float;                                                                          \
        for (uint32_t i = 0; i < count && is_float; i++) {                                                             \
            const key b = x[i], size = b & (sign - 1);                                                                 \
            key ordered = b & sign ? ~b & mask : b | sign;                                                             \
            ordered = size == 0 ? sign : ordered;                                                                      \
            ordered = size > infinity ? mask : ordered;                                                                \
            keys[i] = ordered ^ flip;                                                                                  \
        }                                                                                                              \
        for (uint32_t i = 0; i < count && !is_float; i++)                                                              \
            keys[i] = x[i] ^ flip;                                                                                     \
    }                                                                                                                  \
    static void decode_##bits(const struct kern_sort_code *code, const void *from, uint32_t count, void *elements)     \
    {                                                                                                                  \
        const key sign = (key)code->sign, mask = (key)code->mask, flip = (key)code->flip;                              \
        const key *keys = from;                                                                                        \
        uint##bits##_t *x = elements;                                                                                  \
        const bool is_float = code->is_float;                                                                          \
        for (uint32_t i = 0; i < count && is_float; i++) {                                                             \
            const uint##bits##_t b = (uint##bits##_t)(keys[i] ^ flip);                                                 \
            x[i] = (uint##bits##_t)(b & sign ? b ^ sign : ~b & mask);                                                  \
        }                                                                                                              \
        for (uint32_t i = 0; i < count && !is_float; i++)                                                              \
            x[i] = (uint##bits##_t)(keys[i] ^ flip);                                                                   \
    }
SORT_TYPE(8, uint32_t)
SORT_TYPE(16, uint32_t)
SORT_TYPE(32, uint32_t)
SORT_TYPE(64, uint64_t)

static bool sort_any_within(const struct kern_sort_code *code, const void *keys, uint32_t count, uint64_t bound)
{
    const uint32_t *k32 = keys, b32 = (uint32_t)bound;
    const uint64_t *k64 = keys;
    const bool wide = code->bytes == 8;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count && wide; i++)
        found |= k64[i] <= bound;
    for (uint32_t i = 0; i < count && !wide; i++)
        found |= k32[i] <= b32;
    return found;
}

static const struct kern_sort_isa sort_isa = {
    .encode = { [1] = encode_8, [2] = encode_16, [4] = encode_32, [8] = encode_64 },
    .decode = { [1] = decode_8, [2] = decode_16, [4] = decode_32, [8] = decode_64 },
    .any_within = sort_any_within,
};

KERN_ISA_RUN_WITH(sort_any, kern_sort_run(call, &sort_isa, begin, end))
