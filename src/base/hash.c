/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

/* Eight lanes, for enough independent multiplications in flight. A step is a bijection of the lane for every word and
 * of the word for every lane, so no information is lost before the final mix. */
#define LANES 8

#define ODD_IN  UINT64_C(0xd1b54a32d192ed03)
#define ODD_OUT UINT64_C(0x9e6c63d0876a9a47)

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline uint64_t step(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * ODD_IN, 29) * ODD_OUT;
}

/* Every bit of the result depends on every bit of x. */
static inline uint64_t finish(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0xa24baed4963ee407);
    x = (x ^ x >> 29) * UINT64_C(0x9fb21c651e98df25);
    return x ^ x >> 32;
}

static void block(uint64_t lanes[LANES], const char *data)
{
    uint64_t words[LANES];
    memcpy(words, data, sizeof(words));
    for (int i = 0; i < LANES; i++)
        lanes[i] = step(lanes[i], words[i]);
}

struct base_hash base_hash(const void *data, size_t size)
{
    uint64_t lanes[LANES];
    const char *at = data;
    size_t left = size;
    for (int i = 0; i < LANES; i++)
        lanes[i] = finish((uint64_t)i + 1);
    for (; left >= sizeof(lanes); left -= sizeof(lanes), at += sizeof(lanes))
        block(lanes, at);
    if (left) {
        char rest[sizeof(lanes)] = { 0 };
        memcpy(rest, at, left);
        block(lanes, rest);
    }
    struct base_hash hash = { size, ~(uint64_t)size };
    for (int i = 0; i < LANES; i++) {
        hash.low = finish(step(hash.low, lanes[i]));
        hash.high = finish(step(hash.high, rotate(lanes[i], 32)));
    }
    return hash;
}
