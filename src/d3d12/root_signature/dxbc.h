/* SPDX-License-Identifier: Apache-2.0 */
/* The container of shader bytecode: "DXBC", a digest, a version, the size, then parts, each with a four-letter name.
 * Everything is little-endian. A root signature is a part named "RTS0". */
#ifndef D3D12_DXBC_H
#define D3D12_DXBC_H

#include "base/base.h"

#define DXBC_TAG(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define DXBC_HEADER_BYTES    32u /* without the offsets of the parts */
#define DXBC_PART_BYTES      8u  /* name and size, in front of a part's bytes */

struct dxbc_part {
    const unsigned char *data; /* in the container, not aligned */
    size_t size;
};

/* The 32-bit word `at` bytes behind `data`. */
static inline uint32_t dxbc_word(const unsigned char *data, size_t at)
{
    uint32_t word;
    memcpy(&word, data + at, sizeof(word));
    return word;
}

/* Finds the part named `tag`. NULL, or an error message for the container, whose contents are untrusted. */
const char *dxbc_find(const void *container, size_t size, uint32_t tag, struct dxbc_part *out);

/* Bytes of a container of one part. */
size_t dxbc_size(size_t part_size);
/* Writes such a container around the part, whose bytes the caller stores at the returned address before calling
 * seal. */
unsigned char *dxbc_begin(void *container, uint32_t tag, size_t part_size);
/* Computes the digest. */
void dxbc_seal(void *container, size_t size);

#endif
