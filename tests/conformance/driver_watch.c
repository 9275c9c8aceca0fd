/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that must not even be read, for AddressSanitizer. */
#include "driver.h"

#include "base/base.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>

static char *address(ID3D12Resource *buffer, uint64_t offset)
{
    return (char *)(uintptr_t)(ID3D12Resource_GetGPUVirtualAddress(buffer) + offset);
}

/* It watches units of 8 bytes, the first ones of which may be good. */
void driver_watch(struct driver_device *device, ID3D12Resource *buffer, uint64_t begin, uint64_t end)
{
    if (driver_device_is_host(device) && end > begin)
        ASAN_POISON_MEMORY_REGION(address(buffer, begin), end - begin);
}

void driver_unwatch(struct driver_device *device, ID3D12Resource *buffer, uint64_t begin, uint64_t end)
{
    if (driver_device_is_host(device) && end > begin)
        ASAN_UNPOISON_MEMORY_REGION(address(buffer, begin), end - begin);
}
#else
void driver_watch(struct driver_device *device, ID3D12Resource *buffer, uint64_t begin, uint64_t end)
{
    (void)device, (void)buffer, (void)begin, (void)end;
}

void driver_unwatch(struct driver_device *device, ID3D12Resource *buffer, uint64_t begin, uint64_t end)
{
    (void)device, (void)buffer, (void)begin, (void)end;
}
#endif
