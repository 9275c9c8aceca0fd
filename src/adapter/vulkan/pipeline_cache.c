/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's pipeline cache in a file in the user's cache folder: later processes need not recompile pipelines.
 * Drivers trust the data, so only complete files that this version wrote for this device and driver are used. If two
 * processes end at the same time, the data of the later one is kept. */
#include "adapter/vulkan/vulkan.h"

#include "base/cache.h"
#include "base/log.h"

#include <anydml.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_BYTES_MAX ((size_t)64 << 20) /* larger caches are discarded */

struct file_header {
    char magic[16];
    uint32_t version, vendor, device, driver;
    uint8_t device_uuid[VK_UUID_SIZE], driver_uuid[VK_UUID_SIZE], cache_uuid[VK_UUID_SIZE];
    /* of the data behind the header */
    uint64_t bytes;
    struct base_hash hash;
};
#define KEY_BYTES offsetof(struct file_header, bytes)

static struct file_header header_of(const struct vulkan_physical *physical)
{
    struct file_header header = { .magic = "AnyDML pipes 1",
                                  .version = ANYDML_VERSION,
                                  .vendor = physical->properties.vendorID,
                                  .device = physical->properties.deviceID,
                                  .driver = physical->properties.driverVersion };
    memcpy(header.device_uuid, physical->uuid, VK_UUID_SIZE);
    memcpy(header.driver_uuid, physical->driver_uuid, VK_UUID_SIZE);
    memcpy(header.cache_uuid, physical->properties.pipelineCacheUUID, VK_UUID_SIZE);
    return header;
}

/* false: disabled. */
static bool path_of(const struct file_header *header, char out[BASE_CACHE_PATH_BYTES])
{
    const char *wanted = getenv("ANYDML_PIPELINE_CACHE");
    char name[64];
    if (wanted && !strcmp(wanted, "off"))
        return false;
    snprintf(name, sizeof(name), "pipelines-%016llx.bin", (unsigned long long)base_hash(header, KEY_BYTES).low);
    return base_cache_path(name, out);
}

static bool is_good(const struct file_header *wanted, const struct file_header *found, size_t size)
{
    if (size < sizeof(*found) || memcmp(wanted, found, KEY_BYTES) != 0 || found->bytes != size - sizeof(*found))
        return false;
    struct base_hash hash = base_hash(found + 1, found->bytes);
    return hash.low == found->hash.low && hash.high == found->hash.high;
}

/* For the caller to free. */
static struct file_header *load(const struct vulkan_physical *physical)
{
    struct file_header wanted = header_of(physical);
    char path[BASE_CACHE_PATH_BYTES];
    size_t size;
    if (!path_of(&wanted, path))
        return NULL;
    struct file_header *found = base_cache_read(path, FILE_BYTES_MAX, &size);
    bool good = found && is_good(&wanted, found, size);
    base_log(BASE_LOG_DEBUG, "vulkan: %s %s", path, good ? "is used" : found ? "is damaged" : strerror(errno));
    if (good)
        return found;
    free(found);
    return NULL;
}

HRESULT vulkan_cache_create(struct adapter_device *device)
{
    struct file_header *file = load(device->physical);
    VkPipelineCacheCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO };
    if (file) {
        device->pipelines.saved = file->hash;
        info.initialDataSize = file->bytes;
        info.pInitialData = file + 1;
    }
    VkResult result = vk.vkCreatePipelineCache(device->handle, &info, NULL, &device->pipelines.cache);
    if (result != VK_SUCCESS && file) { /* it does without: a size of 0 with a pointer crashes some drivers */
        info.initialDataSize = 0;
        info.pInitialData = NULL;
        result = vk.vkCreatePipelineCache(device->handle, &info, NULL, &device->pipelines.cache);
    }
    free(file);
    return vulkan_hresult(result);
}

/* The current data of the driver after a header; NULL: none, or out of memory. The caller frees it. */
static struct file_header *collect(struct adapter_device *device)
{
    size_t bytes = 0;
    if (vk.vkGetPipelineCacheData(device->handle, device->pipelines.cache, &bytes, NULL) != VK_SUCCESS || !bytes)
        return NULL;
    struct file_header *file = malloc(sizeof(*file) + bytes);
    if (!file)
        return NULL;
    /* It may have grown meanwhile: the data that fits is complete. */
    if (vk.vkGetPipelineCacheData(device->handle, device->pipelines.cache, &bytes, file + 1) < VK_SUCCESS) {
        free(file);
        return NULL;
    }
    *file = header_of(device->physical);
    file->bytes = bytes;
    file->hash = base_hash(file + 1, bytes);
    return file;
}

static void write_file(struct adapter_device *device, const struct file_header *file)
{
    char path[BASE_CACHE_PATH_BYTES];
    const char *problem = NULL;
    if (file->hash.low == device->pipelines.saved.low && file->hash.high == device->pipelines.saved.high)
        return;
    if (!path_of(file, path))
        return;
    if (file->bytes > FILE_BYTES_MAX - sizeof(*file))
        problem = remove(path) && errno != ENOENT ? strerror(errno) : "starts over";
    else
        problem = base_cache_write(path, file, sizeof(*file) + file->bytes);
    if (!problem)
        device->pipelines.saved = file->hash;
    base_log(BASE_LOG_DEBUG, "vulkan: %s %s", path, problem ? problem : "is written");
}

void vulkan_cache_save(struct adapter_device *device)
{
    pthread_mutex_lock(&device->pipelines.saving);
    struct file_header *file = collect(device);
    if (file)
        write_file(device, file);
    free(file);
    pthread_mutex_unlock(&device->pipelines.saving);
}
