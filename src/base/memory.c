/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include "base/os.h"

#include <stdatomic.h>

#define CHECK_BYTES (UINT64_C(64) << 20) /* may be allocated before available memory is queried again */
#define SPARE_PART  64                   /* of the machine's memory, for everything that is not counted */

bool base_memory_fits(uint64_t bytes)
{
    static _Atomic uint64_t drawn;
    if (atomic_fetch_add(&drawn, BASE_MIN(bytes, CHECK_BYTES)) + BASE_MIN(bytes, CHECK_BYTES) < CHECK_BYTES)
        return true;
    atomic_store(&drawn, 0);
    const uint64_t available = base_memory_available();
    return available == UINT64_MAX || (bytes <= available && available - bytes >= base_memory_total() / SPARE_PART);
}
