/* SPDX-License-Identifier: Apache-2.0 */
/* A fast 128-bit hash, limited by memory bandwidth. Accidental collisions are practically impossible; it is not
 * cryptographic. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/base.h"

struct base_hash {
    uint64_t low, high;
};

struct base_hash base_hash(const void *data, size_t size);

#endif
