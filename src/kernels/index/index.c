/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/index/index.h"

bool index_type(DML_TENSOR_DATA_TYPE type)
{
    return type == DML_TENSOR_DATA_TYPE_INT32 || type == DML_TENSOR_DATA_TYPE_UINT32 ||
           type == DML_TENSOR_DATA_TYPE_INT64 || type == DML_TENSOR_DATA_TYPE_UINT64;
}

int64_t index_clamp_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size)
{
    return index_clamp(index_load(indices, offset, type, size), size);
}

int64_t index_check_at(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t offset, int64_t size)
{
    int64_t index = index_load(indices, offset, type, size);
    return index >= 0 && index < size ? index : -1;
}

uint64_t index_plain_limit(const struct index_lookup *lookup)
{
    uint64_t size = (uint64_t)lookup->sizes[0];
    if (lookup->tuple != 1)
        return 0;
    return lookup->type == DML_TENSOR_DATA_TYPE_INT32 ? BASE_MIN(size, UINT64_C(1) << 31) : size;
}
