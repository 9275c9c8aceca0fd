/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing DXBC containers. The digest is MD5 with a modified last block: the length in bits precedes the
 * remaining bytes, and a word derived from it is at the end. */
#include "d3d12/root_signature/dxbc.h"

#include <assert.h>

#define MAGIC        DXBC_TAG('D', 'X', 'B', 'C')
#define DIGEST_AT    4u
#define DIGEST_BYTES 16u
#define HASHED_AT    20u /* the digest covers everything from here on */
#define SIZE_AT      24u
#define COUNT_AT     28u
#define BLOCK_BYTES  64u

/* ---- digest ---- */

static uint32_t rotate(uint32_t value, unsigned by)
{
    return value << by | value >> (32 - by);
}

/* floor(2^32 * |sin(i + 1)|), the constants of RFC 1321. */
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static void digest_block(uint32_t state[4], const unsigned char block[BLOCK_BYTES])
{
    static const unsigned char turns[4][4] = {
        { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
    };
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t mixed;
        unsigned word;
        switch (i / 16) {
        case 0:
            mixed = (b & c) | (~b & d);
            word = i;
            break;
        case 1:
            mixed = (d & b) | (~d & c);
            word = (5 * i + 1) % 16;
            break;
        case 2:
            mixed = b ^ c ^ d;
            word = (3 * i + 5) % 16;
            break;
        default:
            mixed = c ^ (b | ~d);
            word = 7 * i % 16;
        }
        uint32_t next = b + rotate(a + mixed + sines[i] + dxbc_word(block, 4u * word), turns[i / 16][i % 4]);
        a = d, d = c, c = b, b = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static void digest(const unsigned char *data, size_t size, unsigned char out[DIGEST_BYTES])
{
    uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    uint32_t bits = (uint32_t)size * 8, tail = bits >> 2 | 1;
    unsigned char block[BLOCK_BYTES] = { 0 };
    size_t whole = size / BLOCK_BYTES * BLOCK_BYTES, rest = size - whole;
    for (size_t at = 0; at < whole; at += BLOCK_BYTES)
        digest_block(state, data + at);
    bool fits = rest < BLOCK_BYTES - 8; /* in addition to the two words */
    memcpy(block + (fits ? 4 : 0), data + whole, rest);
    block[rest + (fits ? 4 : 0)] = 0x80;
    if (!fits) {
        digest_block(state, block);
        memset(block, 0, sizeof(block));
    }
    memcpy(block, &bits, sizeof(bits));
    memcpy(block + BLOCK_BYTES - 4, &tail, sizeof(tail));
    digest_block(state, block);
    memcpy(out, state, DIGEST_BYTES);
}

/* Compilers without a signing library leave zeros. */
static bool digest_right(const unsigned char *container, size_t size)
{
    static const unsigned char unsealed[DIGEST_BYTES];
    unsigned char right[DIGEST_BYTES];
    if (!memcmp(container + DIGEST_AT, unsealed, DIGEST_BYTES))
        return true;
    digest(container + HASHED_AT, size - HASHED_AT, right);
    return !memcmp(container + DIGEST_AT, right, DIGEST_BYTES);
}

/* ---- reading ---- */

static const char *header_error(const unsigned char *container, size_t size)
{
    if (size < DXBC_HEADER_BYTES)
        return "it is shorter than a container's header";
    if (dxbc_word(container, 0) != MAGIC)
        return "not a DXBC container";
    if (dxbc_word(container, HASHED_AT) != 1)
        return "the container's version is not 1";
    if (dxbc_word(container, SIZE_AT) != size)
        return "its size is not the one that the container names";
    if (dxbc_word(container, COUNT_AT) > (size - DXBC_HEADER_BYTES) / 4)
        return "it is too short for its parts";
    return digest_right(container, size) ? NULL : "the container's digest is wrong";
}

const char *dxbc_find(const void *data, size_t size, uint32_t tag, struct dxbc_part *out)
{
    const unsigned char *container = data;
    const char *error = header_error(container, size);
    if (error)
        return error;
    uint32_t count = dxbc_word(container, COUNT_AT);
    *out = (struct dxbc_part){ NULL, 0 };
    for (uint32_t i = 0; i < count; i++) {
        size_t at = dxbc_word(container, DXBC_HEADER_BYTES + 4u * i);
        if (at > size - DXBC_PART_BYTES || dxbc_word(container, at + 4) > size - DXBC_PART_BYTES - at)
            return "a part extends beyond its end";
        if (dxbc_word(container, at) != tag)
            continue;
        if (out->data)
            return "it has two parts of one name";
        *out = (struct dxbc_part){ container + at + DXBC_PART_BYTES, dxbc_word(container, at + 4) };
    }
    return out->data ? NULL : "the part is missing";
}

/* ---- writing ---- */

size_t dxbc_size(size_t part_size)
{
    return DXBC_HEADER_BYTES + 4 + DXBC_PART_BYTES + part_size;
}

unsigned char *dxbc_begin(void *container, uint32_t tag, size_t part_size)
{
    uint32_t size = (uint32_t)dxbc_size(part_size), at = DXBC_HEADER_BYTES + 4;
    uint32_t header[] = { MAGIC, 0, 0, 0, 0, 1, size, 1, at, tag, (uint32_t)part_size };
    static_assert(sizeof(header) == DXBC_HEADER_BYTES + 4 + DXBC_PART_BYTES, "layout");
    memcpy(container, header, sizeof(header));
    return (unsigned char *)container + sizeof(header);
}

void dxbc_seal(void *data, size_t size)
{
    unsigned char *container = data;
    digest(container + HASHED_AT, size - HASHED_AT, container + DIGEST_AT);
}
