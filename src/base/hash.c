/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/parallel.h"

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

#define PIECE_BYTES ((size_t)1 << 20)
#define PIECES      256 /* whose hashes are hashed together */

struct pieces {
    const char *data; /* of the first one */
    size_t size;      /* of all */
    struct base_hash hashes[PIECES];
};

static void hash_pieces(void *context, size_t begin, size_t end, unsigned worker)
{
    struct pieces *pieces = context;
    (void)worker;
    for (size_t i = begin; i < end; i++)
        pieces->hashes[i] =
            base_hash(pieces->data + i * PIECE_BYTES, BASE_MIN(pieces->size - i * PIECE_BYTES, PIECE_BYTES));
}

/* A chain: the hash of all before, and that of the hashes of the next pieces. */
struct base_hash base_hash_large(const void *data, size_t size)
{
    struct base_hash chain[2] = { { size, ~(uint64_t)size } };
    struct pieces pieces = { .data = data };
    for (size_t left = size; left; left -= pieces.size, pieces.data += pieces.size) {
        pieces.size = BASE_MIN(left, PIECES * PIECE_BYTES);
        const size_t count = (pieces.size + PIECE_BYTES - 1) / PIECE_BYTES;
        base_parallel_for(count, 1, hash_pieces, &pieces);
        chain[1] = base_hash(pieces.hashes, count * sizeof(*pieces.hashes));
        chain[0] = base_hash(chain, sizeof(chain));
    }
    return chain[0];
}
