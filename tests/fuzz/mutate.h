/* SPDX-License-Identifier: Apache-2.0 */
/* Operator descriptions from bytes: a valid one of any operator, then changes to its fields that keep every pointer and
 * array length true, which is all that a caller promises. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "schema/sample.h"
#include "schema/schema.h"

struct fuzz_bytes {
    const uint8_t *data;
    size_t size;
};

/* 0 when the bytes have run out. */
static inline uint8_t fuzz_byte(struct fuzz_bytes *bytes)
{
    if (!bytes->size)
        return 0;
    bytes->size--;
    return *bytes->data++;
}

enum {
    FUZZ_TENSOR_BYTES_MAX = 1 << 15, /* so that no run takes long */
};

/* false when the bytes name no operator or a tensor is larger than FUZZ_TENSOR_BYTES_MAX. */
bool fuzz_operator(struct fuzz_bytes *bytes, struct schema_sample_storage *storage, DML_OPERATOR_DESC *out);

/* Data of a tensor: any bytes, numbers of one type with special ones among them, or indices in and out of range. */
void fuzz_fill(uint8_t *out, uint64_t bytes, uint8_t fill);

/* In builds for fuzzing: the edges of the code that were reached for the first time since the last call. */
uint32_t fuzz_coverage_gain(void);

#endif
