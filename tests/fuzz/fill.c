/* SPDX-License-Identifier: Apache-2.0 */
#include "mutate.h"

#include <string.h>

enum kind {
    FILL_BYTES,
    FILL_BYTES_TOO, /* twice as often as the others */
    FILL_FLOAT32,
    FILL_FLOAT16,
    FILL_FLOAT64,
    FILL_INDEX32,
    FILL_INDEX64,
    FILL_ONE_BYTE,
};

struct filler {
    uint32_t state;
    uint32_t seed; /* 0 .. 31 */
};

static uint32_t next(struct filler *f)
{
    f->state = f->state * 1664525 + 1013904223;
    return f->state >> 8;
}

/* Even seeds: half of the numbers are special ones, odd ones: a sixteenth. */
static bool special(struct filler *f)
{
    return next(f) % (f->seed & 1 ? 16 : 2) == 0;
}

static uint64_t float32_bits(struct filler *f)
{
    static const uint32_t specials[] = {
        0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x00000001,
        0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000001, 0x5f000000, 0x4f800000,
    };
    float number = ((float)(next(f) % 2048) - 1024) / 64;
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return special(f) ? specials[next(f) % 16] : bits;
}

static uint64_t float16_bits(struct filler *f)
{
    static const uint16_t specials[] = {
        0x0000, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff,
    };
    /* Between a sixteenth and sixteen. */
    return special(f) ? specials[next(f) % 12] : 0x2c00 + next(f) % 0x2000 + ((next(f) & 1) << 15);
}

static uint64_t float64_bits(struct filler *f)
{
    static const uint64_t specials[] = {
        0x0000000000000000, 0x8000000000000000, 0x7ff0000000000000, 0xfff0000000000000,
        0x7ff8000000000000, 0x7ff0000000000001, 0x0000000000000001, 0x7fefffffffffffff,
        0x43e0000000000000, 0x41e0000000000000, 0x47f0000000000000, 0xc3e0000000000001,
    };
    double number = ((double)(next(f) % 2048) - 1024) / 64;
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return special(f) ? specials[next(f) % 12] : bits;
}

/* Mostly within a small tensor, sometimes below 0, just past the end or far away. */
static uint64_t index_bits(struct filler *f)
{
    static const uint64_t specials[] = {
        0, UINT64_MAX, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
    };
    uint64_t number = next(f) % (1 + f->seed / 4);
    return special(f) ? (next(f) & 1 ? specials[next(f) % 8] : 0 - number) : number;
}

static void fill_numbers(uint8_t *out, uint64_t bytes, size_t size, uint64_t (*number)(struct filler *),
                         struct filler f)
{
    for (uint64_t at = 0; at < bytes; at += size) {
        uint64_t bits = number(&f);
        memcpy(out + at, &bits, bytes - at < size ? (size_t)(bytes - at) : size);
    }
}

void fuzz_fill(uint8_t *out, uint64_t bytes, uint8_t fill)
{
    static const uint8_t alone[] = { 0x00, 0xff, 0x80, 0x7f, 0x01, 0x7c, 0x3f, 0x02 };
    struct filler f = { fill * 2654435761u, fill & 31 };
    switch ((enum kind)(fill >> 5)) {
    case FILL_BYTES:
    case FILL_BYTES_TOO:
        for (uint64_t i = 0; i < bytes; i++)
            out[i] = (uint8_t)(fill + i * (fill | 1) + (i >> 3));
        break;
    case FILL_FLOAT32:
        fill_numbers(out, bytes, 4, float32_bits, f);
        break;
    case FILL_FLOAT16:
        fill_numbers(out, bytes, 2, float16_bits, f);
        break;
    case FILL_FLOAT64:
        fill_numbers(out, bytes, 8, float64_bits, f);
        break;
    case FILL_INDEX32:
        fill_numbers(out, bytes, 4, index_bits, f);
        break;
    case FILL_INDEX64:
        fill_numbers(out, bytes, 8, index_bits, f);
        break;
    case FILL_ONE_BYTE:
        memset(out, alone[fill & 7], bytes);
        break;
    }
}
