/* SPDX-License-Identifier: Apache-2.0 */
/* Elements to sort keys and back, in loops that become vectors. */
#if defined(__AVX512F__)
#pragma GCC target("prefer-vector-width=512") /* loops that the compiler vectorises */
#endif
#include "kernels/core/isa.h"
#include "kernels/sort/sort.h"

/* Floats order like sign-magnitude numbers; NaNs get the greatest key, both zeros the same. */
#define SORT_ENCODE(key, bits)                                                                                         \
    for (uint32_t i = 0; i < count; i++) {                                                                             \
        key b = bits[i], size = b & (sign - 1);                                                                        \
        key ordered = b & sign ? ~b & mask : b | sign;                                                                 \
        ordered = size == 0 ? sign : ordered;                                                                          \
        ordered = size > infinity ? mask : ordered;                                                                    \
        keys[i] = ordered ^ flip;                                                                                      \
    }
#define SORT_DECODE(key, bits)                                                                                         \
    for (uint32_t i = 0; i < count; i++) {                                                                             \
        key b = keys[i] ^ flip;                                                                                        \
        bits[i] = b & sign ? b ^ sign : ~b & mask;                                                                     \
    }

static void encode_32(const struct kern_sort_code *code, const void *elements, uint32_t count, uint32_t *keys)
{
    uint32_t sign = (uint32_t)code->sign, mask = (uint32_t)code->mask, infinity = (uint32_t)code->infinity;
    uint32_t flip = (uint32_t)code->flip;
    const uint8_t *e8 = elements;
    const uint16_t *e16 = elements;
    const uint32_t *e32 = elements;
    if (code->is_float && code->bytes == 4) {
        SORT_ENCODE(uint32_t, e32)
    } else if (code->is_float) {
        SORT_ENCODE(uint32_t, e16)
    } else if (code->bytes == 4) {
        for (uint32_t i = 0; i < count; i++)
            keys[i] = e32[i] ^ flip;
    } else if (code->bytes == 2) {
        for (uint32_t i = 0; i < count; i++)
            keys[i] = e16[i] ^ flip;
    } else {
        for (uint32_t i = 0; i < count; i++)
            keys[i] = e8[i] ^ flip;
    }
}

static void encode_64(const struct kern_sort_code *code, const uint64_t *elements, uint32_t count, uint64_t *keys)
{
    uint64_t sign = code->sign, mask = code->mask, infinity = code->infinity, flip = code->flip;
    if (code->is_float) {
        SORT_ENCODE(uint64_t, elements)
    } else {
        for (uint32_t i = 0; i < count; i++)
            keys[i] = elements[i] ^ flip;
    }
}

static void sort_encode(const struct kern_sort_code *code, const void *elements, uint32_t count, void *keys)
{
    if (code->bytes == 8)
        encode_64(code, elements, count, keys);
    else
        encode_32(code, elements, count, keys);
}

static void decode_32(const struct kern_sort_code *code, const uint32_t *keys, uint32_t count, void *elements)
{
    uint32_t sign = (uint32_t)code->sign, mask = (uint32_t)code->mask, flip = (uint32_t)code->flip;
    uint8_t *e8 = elements;
    uint16_t *e16 = elements;
    uint32_t *e32 = elements;
    if (code->is_float && code->bytes == 4) {
        SORT_DECODE(uint32_t, e32)
    } else if (code->is_float) {
        SORT_DECODE(uint16_t, e16)
    } else if (code->bytes == 4) {
        for (uint32_t i = 0; i < count; i++)
            e32[i] = keys[i] ^ flip;
    } else if (code->bytes == 2) {
        for (uint32_t i = 0; i < count; i++)
            e16[i] = (uint16_t)(keys[i] ^ flip);
    } else {
        for (uint32_t i = 0; i < count; i++)
            e8[i] = (uint8_t)(keys[i] ^ flip);
    }
}

static void decode_64(const struct kern_sort_code *code, const uint64_t *keys, uint32_t count, uint64_t *elements)
{
    uint64_t sign = code->sign, mask = code->mask, flip = code->flip;
    if (code->is_float) {
        SORT_DECODE(uint64_t, elements)
    } else {
        for (uint32_t i = 0; i < count; i++)
            elements[i] = keys[i] ^ flip;
    }
}

static void sort_decode(const struct kern_sort_code *code, const void *keys, uint32_t count, void *elements)
{
    if (code->bytes == 8)
        decode_64(code, keys, count, elements);
    else
        decode_32(code, keys, count, elements);
}

static bool sort_any_within(const struct kern_sort_code *code, const void *keys, uint32_t count, uint64_t bound)
{
    const uint32_t *k32 = keys, b32 = (uint32_t)bound;
    const uint64_t *k64 = keys;
    uint32_t found = 0;
    if (code->bytes == 8) {
        for (uint32_t i = 0; i < count; i++)
            found |= k64[i] <= bound;
    } else {
        for (uint32_t i = 0; i < count; i++)
            found |= k32[i] <= b32;
    }
    return found;
}

#undef SORT_ENCODE
#undef SORT_DECODE

const struct kern_sort_isa KERN_ISA_TABLE(kern_sort_isa_) = { sort_encode, sort_decode, sort_any_within };

KERN_ISA_RUN_WITH(sort_any, kern_sort_run(call, &KERN_ISA_TABLE(kern_sort_isa_), begin, end))
