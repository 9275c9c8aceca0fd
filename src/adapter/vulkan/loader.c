/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the Vulkan loader and picks the devices that this adapter can use. */
#include "adapter/vulkan/sparse.h"

#include "base/log.h"
#include "base/os.h"
#include "shaders/shader.h"

#include <stdio.h>
#include <stdlib.h>

#define PHYSICALS_MAX 32

struct vulkan_procs vk;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct vulkan_physical physicals[PHYSICALS_MAX];
static uint32_t physical_count;
static pthread_mutex_t instance_lock = PTHREAD_MUTEX_INITIALIZER;
static VkInstance instance;
static void *library;
static uint32_t borrowers; /* under instance_lock: devices over the application's instances */

/* NULL, or the function that there is not. */
static const char *load_global(PFN_vkGetInstanceProcAddr get, struct vulkan_procs *out)
{
    const char *lack = NULL;
#define VULKAN_GLOBAL(name) lack = (out->name = (PFN_##name)get(NULL, #name)) != NULL ? lack : #name;
#define VULKAN_INSTANCE(name)
#include "adapter/vulkan/procs.def"
#undef VULKAN_GLOBAL
#undef VULKAN_INSTANCE
    return lack;
}

/* Likewise. */
static const char *load_instance(PFN_vkGetInstanceProcAddr get, VkInstance of, struct vulkan_procs *out)
{
    const char *lack = NULL;
#define VULKAN_GLOBAL(name)
#define VULKAN_INSTANCE(name) lack = (out->name = (PFN_##name)get(of, #name)) != NULL ? lack : #name;
#include "adapter/vulkan/procs.def"
#undef VULKAN_GLOBAL
#undef VULKAN_INSTANCE
    return lack;
}

static void close_instance(void)
{
    if (instance)
        vk.vkDestroyInstance(instance, NULL);
    if (library)
        base_library_close(library);
    instance = VK_NULL_HANDLE;
    library = NULL;
}

/* With VK_EXT_debug_utils where the loader offers it, as all do since 2018: tools show pipelines by name. */
static VkResult create_instance(const struct vulkan_procs *procs, VkInstance *out)
{
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pEngineName = "AnyDML",
        .apiVersion = VK_API_VERSION_1_2,
    };
    const char *const extensions[] = { VK_EXT_DEBUG_UTILS_EXTENSION_NAME };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application,
                                  .enabledExtensionCount = ARRAY_SIZE(extensions),
                                  .ppEnabledExtensionNames = extensions };
    VkResult result = procs->vkCreateInstance(&info, NULL, out);
    if (result != VK_ERROR_EXTENSION_NOT_PRESENT)
        return result;
    info.enabledExtensionCount = 0;
    return procs->vkCreateInstance(&info, NULL, out);
}

static bool open_instance(void)
{
    uint32_t version = 0;
    char why[256];
    library = base_library_open(BASE_VULKAN_LOADER, why, sizeof(why));
    if (!library) {
        base_log(BASE_LOG_INFO, "vulkan: %s", why);
        return false;
    }
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)base_library_symbol(library, "vkGetInstanceProcAddr");
    struct vulkan_procs procs = { 0 };
    VkResult result = VK_SUCCESS;
    vulkan_report_loader(get);
    if (get && !load_global(get, &procs) && procs.vkEnumerateInstanceVersion(&version) == VK_SUCCESS &&
        version >= VK_API_VERSION_1_2 && (result = create_instance(&procs, &instance)) == VK_SUCCESS &&
        !load_instance(get, instance, &procs) && (!borrowers || !memcmp(&procs, &vk, sizeof(vk)))) {
        if (!borrowers)
            vk = procs;
        return true;
    }
    base_log(BASE_LOG_INFO, "vulkan: no instance of version 1.2%s%s",
             result == VK_ERROR_INCOMPATIBLE_DRIVER ? ": the loader finds no driver that works"
             : result                               ? ": vkCreateInstance fails"
                                                    : "",
             borrowers ? ", or the application uses another loader than " BASE_VULKAN_LOADER : "");
    /* Without all its functions an instance stays. */
    instance = VK_NULL_HANDLE;
    close_instance();
    return false;
}

static bool find_families(struct vulkan_physical *physical)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = ARRAY_SIZE(families);
    vk.vkGetPhysicalDeviceQueueFamilyProperties(physical->handle, &count, families);
    return vulkan_families_choose(families, count, physical->families);
}

static bool has_extension(VkPhysicalDevice device, const char *name)
{
    uint32_t count = 0;
    bool found = false;
    if (vk.vkEnumerateDeviceExtensionProperties(device, NULL, &count, NULL) != VK_SUCCESS || !count)
        return false;
    VkExtensionProperties *list = calloc(count, sizeof(*list));
    if (list && vk.vkEnumerateDeviceExtensionProperties(device, NULL, &count, list) >= VK_SUCCESS) {
        for (uint32_t i = 0; i < count && !found; i++)
            found = !strcmp(list[i].extensionName, name);
    }
    free(list);
    return found;
}

static void find_features(VkPhysicalDevice device, struct vulkan_features *out)
{
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &out->v11 };
    out->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    out->v11.pNext = &out->v12;
    out->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    vk.vkGetPhysicalDeviceFeatures2(device, &features);
    out->core = features.features;
}

/* NULL, or the missing requirement. */
static const char *missing(struct vulkan_physical *physical, const struct vulkan_features *features)
{
    if (features->core.shaderInt64)
        physical->capabilities |= SHADER_CAPABILITY_INT64;
    if (features->core.shaderInt64 && features->core.shaderFloat64)
        physical->capabilities |= SHADER_CAPABILITY_FLOAT64;
    if (features->v12.storageBuffer8BitAccess && features->v11.storageBuffer16BitAccess)
        physical->capabilities |= SHADER_CAPABILITY_STORAGE;
    if (!features->v12.bufferDeviceAddress)
        return "bufferDeviceAddress";
    if (!features->v12.timelineSemaphore)
        return "timelineSemaphore";
    if (!features->v12.uniformBufferStandardLayout)
        return "uniformBufferStandardLayout";
    return NULL;
}

/* As in ANYDML_VULKAN_CAPS; unset or empty: all. ANYDML_METACOMMANDS=0 removes one. */
uint32_t vulkan_capabilities_allowed(void)
{
    const char *allowed = getenv("ANYDML_VULKAN_CAPS"), *metacommands = getenv("ANYDML_METACOMMANDS");
    uint32_t capabilities = UINT32_MAX;
    char unknown[64]; /* reported by d3d12/environment.c */
    if (allowed && *allowed)
        adapter_capabilities_parse(allowed, &capabilities, unknown, sizeof(unknown));
    if (metacommands && !strcmp(metacommands, "0"))
        capabilities &= ~(uint32_t)SHADER_CAPABILITY_META;
    return capabilities & SHADER_CAPABILITY_INT64 ? capabilities : capabilities & ~(uint32_t)SHADER_CAPABILITY_FLOAT64;
}

static bool has_shuffles(const VkPhysicalDeviceSubgroupProperties *subgroup)
{
    const VkSubgroupFeatureFlags operations =
        VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
    return subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
           (subgroup->supportedOperations & operations) == operations;
}

const char *vulkan_physical_describe(VkPhysicalDevice handle, const struct vulkan_features *enabled,
                                     struct vulkan_physical *physical)
{
    struct vulkan_features all = { 0 };
    VkPhysicalDeviceMaintenance3Properties limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
    };
    /* Drivers older than Vulkan 1.3 ignore it. */
    VkPhysicalDeviceMaintenance4Properties buffers = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES,
        .pNext = &limits,
    };
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES,
        .pNext = &buffers,
    };
    VkPhysicalDeviceIDProperties id = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, .pNext = &floats };
    VkPhysicalDeviceDriverProperties driver = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
                                                .pNext = &id };
    VkPhysicalDeviceSubgroupProperties subgroup = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                                    .pNext = &driver };
    VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                               .pNext = &subgroup };
    VkPhysicalDeviceMemoryProperties2 memory = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2 };
    *physical = (struct vulkan_physical){ .handle = handle };
    vk.vkGetPhysicalDeviceProperties2(handle, &properties);
    vk.vkGetPhysicalDeviceMemoryProperties2(handle, &memory);
    physical->properties = properties.properties;
    memcpy(physical->uuid, id.deviceUUID, sizeof(physical->uuid));
    memcpy(physical->driver_uuid, id.driverUUID, sizeof(physical->driver_uuid));
    physical->memory = memory.memoryProperties;
    physical->allocation_bytes_max = limits.maxMemoryAllocationSize;
    physical->buffer_bytes_max = buffers.maxBufferSize ? buffers.maxBufferSize : UINT64_MAX;
    physical->floats = vulkan_floats_kept(&floats);
    if (physical->properties.apiVersion < VK_API_VERSION_1_2)
        return "Vulkan 1.2";
    if (!enabled)
        find_features(handle, &all);
    const char *lack = missing(physical, enabled ? enabled : &all);
    if (enabled ? enabled->core.sparseBinding : all.core.sparseBinding)
        physical->sparse_bytes_max = physical->properties.limits.sparseAddressSpaceSize;
    if (!lack)
        lack = vulkan_limits_lack(&physical->properties.limits);
    if (!lack && !floats.shaderSignedZeroInfNanPreserveFloat32)
        lack = "shaderSignedZeroInfNanPreserveFloat32";
    if (!floats.shaderSignedZeroInfNanPreserveFloat64)
        physical->capabilities &= ~(uint32_t)SHADER_CAPABILITY_FLOAT64;
    if (vulkan_floats_convert(physical->floats, driver.driverID))
        physical->capabilities |= SHADER_CAPABILITY_HALF;
    physical->loads_unasked = driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE &&
                              physical->properties.driverVersion >= VK_MAKE_API_VERSION(0, 25, 1, 0);
    if (has_shuffles(&subgroup))
        physical->capabilities |= SHADER_CAPABILITY_SUBGROUP;
    if (physical->properties.limits.maxComputeSharedMemorySize >= 32768)
        physical->capabilities |= SHADER_CAPABILITY_SHARED;
    if (vulkan_limits_wide(&physical->properties.limits))
        physical->capabilities |= SHADER_CAPABILITY_WIDE;
    physical->capabilities &= vulkan_capabilities_allowed();
    return lack;
}

/* Packed products are reported as accelerated, but wrong, on AMD's GPUs without instructions for them (GCN, RDNA 1 and
 * 2: llama.cpp#10710, ollama#13108) and on PowerVR DXT (llama.cpp#28502). Mesa's drivers are right on the same GPUs. */
bool vulkan_trusts_dot_products(VkPhysicalDevice device)
{
    VkPhysicalDeviceShaderIntegerDotProductProperties dots = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES,
    };
    VkPhysicalDeviceDriverProperties driver = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
                                                .pNext = &dots };
    VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                               .pNext = &driver };
    const char *allowed = getenv("ANYDML_VULKAN_CAPS");
    if (allowed && *allowed)
        return true; /* vulkan_capabilities_allowed decides */
    vk.vkGetPhysicalDeviceProperties2(device, &properties);
    /* Emulated packed products spill registers (check-radv shows it on GCN and RDNA 1). Software devices, which report
     * none accelerated, are for tests. */
    if (!dots.integerDotProduct4x8BitPackedSignedAccelerated &&
        properties.properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU)
        return false;
    return driver.driverID != VK_DRIVER_ID_AMD_PROPRIETARY && driver.driverID != VK_DRIVER_ID_AMD_OPEN_SOURCE &&
           driver.driverID != VK_DRIVER_ID_IMAGINATION_PROPRIETARY;
}

static bool has_dot_products(VkPhysicalDevice device)
{
    VkPhysicalDeviceShaderIntegerDotProductFeatures dots = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
    };
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &dots };
    if (!has_extension(device, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME) || !vulkan_trusts_dot_products(device))
        return false;
    vk.vkGetPhysicalDeviceFeatures2(device, &features);
    return dots.shaderIntegerDotProduct;
}

static uint32_t cooperative(VkPhysicalDevice handle)
{
    PFN_vkGetInstanceProcAddr get = (PFN_vkGetInstanceProcAddr)base_library_symbol(library, "vkGetInstanceProcAddr");
    uint32_t extensions = has_extension(handle, "VK_KHR_cooperative_matrix") ? SHADER_CAPABILITY_COOP : 0;
    if (has_extension(handle, "VK_KHR_shader_bfloat16"))
        extensions |= SHADER_CAPABILITY_COOP_BFLOAT16;
    return vulkan_cooperative_find(get, instance, handle, extensions);
}

uint32_t vulkan_multiprocessors(VkPhysicalDevice handle)
{
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV builtins = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV
    };
    VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                               .pNext = &builtins };
    if (has_extension(handle, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
        vk.vkGetPhysicalDeviceProperties2(handle, &properties);
    return builtins.shaderSMCount;
}

static void add_physical(VkPhysicalDevice handle)
{
    struct vulkan_physical *physical = &physicals[physical_count];
    vulkan_report_found(handle);
    const char *lack = vulkan_physical_describe(handle, NULL, physical);
    if (!lack && !find_families(physical))
        lack = "a compute queue";
    if (lack) {
        base_log(BASE_LOG_INFO, "vulkan: \"%s\" is not used: it lacks %s", physical->properties.deviceName, lack);
        return;
    }
    vulkan_sparse_check(physical);
    if (has_dot_products(handle))
        physical->capabilities |= SHADER_CAPABILITY_DOT & vulkan_capabilities_allowed();
    if (physical->capabilities & SHADER_CAPABILITY_STORAGE)
        physical->capabilities |= cooperative(handle) & vulkan_capabilities_allowed();
    if (has_extension(handle, VK_NVX_BINARY_IMPORT_EXTENSION_NAME)) {
        physical->capabilities |= SHADER_CAPABILITY_META & vulkan_capabilities_allowed();
        physical->multiprocessors = vulkan_multiprocessors(handle);
    }
    physical->budget = has_extension(handle, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    physical->external_fd = has_extension(handle, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    vulkan_report_used(physical);
    physical_count++;
}

/* Programs that only list adapters need not keep the drivers in memory: Mesa's take 56 MB. */
static void find_physicals(void)
{
    VkPhysicalDevice handles[PHYSICALS_MAX];
    uint32_t count = PHYSICALS_MAX;
    pthread_mutex_lock(&instance_lock);
    if (!open_instance()) {
        pthread_mutex_unlock(&instance_lock);
        return;
    }
    if (vk.vkEnumeratePhysicalDevices(instance, &count, handles) >= VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            add_physical(handles[i]);
#if !defined(__SANITIZE_ADDRESS__) /* leak checkers cannot attribute leaks of an unloaded driver */
    close_instance();
    for (uint32_t i = 0; i < physical_count; i++)
        physicals[i].handle = VK_NULL_HANDLE;
#endif
    pthread_mutex_unlock(&instance_lock);
}

uint32_t vulkan_physicals(const struct vulkan_physical **out)
{
    pthread_once(&once, find_physicals);
    *out = physicals;
    return physical_count;
}

/* One GPU may have several drivers. */
static bool is_same(const struct vulkan_physical *physical, const VkPhysicalDeviceProperties *properties,
                    const VkPhysicalDeviceIDProperties *id)
{
    return physical->properties.vendorID == properties->vendorID &&
           !memcmp(physical->uuid, id->deviceUUID, sizeof(id->deviceUUID)) &&
           !memcmp(physical->driver_uuid, id->driverUUID, sizeof(id->driverUUID));
}

/* The handles of the devices found earlier, in the new instance. */
static void find_handles(void)
{
    VkPhysicalDevice handles[PHYSICALS_MAX];
    uint32_t count = PHYSICALS_MAX;
    if (vk.vkEnumeratePhysicalDevices(instance, &count, handles) < VK_SUCCESS)
        return;
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceIDProperties id = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES };
        VkPhysicalDeviceProperties2 properties = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                                   .pNext = &id };
        vk.vkGetPhysicalDeviceProperties2(handles[i], &properties);
        for (uint32_t k = 0; k < physical_count; k++)
            if (!physicals[k].handle && is_same(&physicals[k], &properties.properties, &id)) {
                physicals[k].handle = handles[i];
                find_families(&physicals[k]); /* Vulkan counts only what was queried from this instance */
                break;
            }
    }
}

VkPhysicalDevice vulkan_physical_open(uint32_t index)
{
    pthread_once(&once, find_physicals);
    pthread_mutex_lock(&instance_lock);
    if (!instance && open_instance())
        find_handles();
    VkPhysicalDevice handle = physicals[index].handle;
    pthread_mutex_unlock(&instance_lock);
    return handle;
}

/* ---- instances of the application ---- */

/* The functions belong to the process: those of the loader that was opened first. */
static HRESULT use_procs(const struct vulkan_procs *procs, char *message)
{
    const bool used = instance || borrowers;
    if (used && memcmp(procs, &vk, sizeof(vk))) {
        snprintf(message, ADAPTER_MESSAGE_BYTES,
                 "GetInstanceProcAddr is another Vulkan loader's than the one that this process uses already");
        return DXGI_ERROR_UNSUPPORTED;
    }
    if (!used)
        vk = *procs;
    borrowers++;
    return S_OK;
}

HRESULT vulkan_loader_borrow(PFN_vkGetInstanceProcAddr get, VkInstance theirs, char *message)
{
    struct vulkan_procs procs = { 0 };
    const char *lack = load_instance(get, theirs, &procs);
    if (!lack)
        lack = load_global(get, &procs);
    if (lack) {
        snprintf(message, ADAPTER_MESSAGE_BYTES, "GetInstanceProcAddr does not find %s of Vulkan 1.2 for Instance",
                 lack);
        return E_INVALIDARG;
    }
    pthread_mutex_lock(&instance_lock);
    HRESULT hr = use_procs(&procs, message);
    pthread_mutex_unlock(&instance_lock);
    return hr;
}

void vulkan_loader_return(void)
{
    pthread_mutex_lock(&instance_lock);
    borrowers--;
    pthread_mutex_unlock(&instance_lock);
}
