/* SPDX-License-Identifier: Apache-2.0 */
/* A 128-bit hash of many bytes at the speed of memory. Different data practically never have one hash by accident; it
 * is no defence against somebody who looks for such data. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/base.h"

struct base_hash {
    uint64_t low, high;
};

struct base_hash base_hash(const void *data, size_t size);

#endif
