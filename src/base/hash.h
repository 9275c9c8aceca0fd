/* SPDX-License-Identifier: Apache-2.0 */
/* Fast 128-bit hashes, limited by memory bandwidth. Accidental collisions are practically impossible; they are not
 * cryptographic. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/base.h"

struct base_hash {
    uint64_t low, high;
};

struct base_hash base_hash(const void *data, size_t size);
/* Another function, by the calling thread's team (parallel.h), for large amounts. */
struct base_hash base_hash_large(const void *data, size_t size);

#endif
