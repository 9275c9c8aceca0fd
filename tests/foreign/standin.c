/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's device: its Vulkan device, and the interfaces that give it to others. */
#include "standin_own.h"

#include "foreign/vkd3d.h"
#include "standin_spirv.h"

/* Drivers that an instance loads keep a little memory when they are unloaded, which cannot be attributed. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable()
#define __lsan_enable()
#endif

/* ---- the Vulkan device ---- */

static bool find_features(struct standin *s)
{
    s->features =
        (VkPhysicalDeviceFeatures2){ .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &s->v11 };
    s->v11 = (VkPhysicalDeviceVulkan11Features){ .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                                 .pNext = &s->v12 };
    s->v12 = (VkPhysicalDeviceVulkan12Features){ .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &s->v13 };
    s->v13 = (VkPhysicalDeviceVulkan13Features){ .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES };
    vkGetPhysicalDeviceProperties(s->physical, &s->properties);
    if (s->properties.apiVersion < VK_API_VERSION_1_3)
        return false;
    vkGetPhysicalDeviceFeatures2(s->physical, &s->features);
    /* What vkd3d-proton switches off. */
    s->v11.protectedMemory = s->v11.samplerYcbcrConversion = VK_FALSE;
    s->v12.uniformAndStorageBuffer8BitAccess = s->v12.storagePushConstant8 = VK_FALSE;
    s->v12.bufferDeviceAddressCaptureReplay = s->v12.bufferDeviceAddressMultiDevice = VK_FALSE;
    s->v12.vulkanMemoryModelAvailabilityVisibilityChains = VK_FALSE;
    s->v13.robustImageAccess = s->v13.inlineUniformBlock = s->v13.privateData = VK_FALSE;
    s->features.features.robustBufferAccess = VK_TRUE;
    if (s->options.no_uniform_layout)
        s->v12.uniformBufferStandardLayout = VK_FALSE;
    return s->v12.bufferDeviceAddress && s->v12.timelineSemaphore;
}

static bool find_families(struct standin *s)
{
    VkQueueFamilyProperties list[16];
    uint32_t count = 16, direct = UINT32_MAX, compute = UINT32_MAX;
    vkGetPhysicalDeviceQueueFamilyProperties(s->physical, &count, list);
    for (uint32_t i = count; i-- > 0;) {
        const bool graphics = list[i].queueFlags & VK_QUEUE_GRAPHICS_BIT;
        if (list[i].queueFlags & VK_QUEUE_COMPUTE_BIT && graphics)
            direct = i;
        if (list[i].queueFlags & VK_QUEUE_COMPUTE_BIT && !graphics)
            compute = i;
    }
    if (direct == UINT32_MAX)
        return false;
    s->families[0] = direct;
    s->families[1] = compute != UINT32_MAX ? compute : direct;
    s->family_count = s->families[0] != s->families[1] ? 2 : 1;
    return true;
}

static bool find_physical(struct standin *s)
{
    VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3 };
    VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application };
    VkPhysicalDevice physicals[16];
    uint32_t count = 16;
    __lsan_disable();
    if (vkCreateInstance(&info, NULL, &s->instance) != VK_SUCCESS ||
        vkEnumeratePhysicalDevices(s->instance, &count, physicals) < VK_SUCCESS)
        count = 0;
    __lsan_enable();
    for (uint32_t i = 0; i < count; i++) {
        s->physical = physicals[i];
        if (find_features(s) && find_families(s))
            return true;
    }
    return false;
}

static void find_extensions(struct standin *s)
{
    static const char *const wanted[] = { VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, "VK_KHR_cooperative_matrix",
                                          VK_NVX_BINARY_IMPORT_EXTENSION_NAME };
    static VkExtensionProperties list[512];
    uint32_t count = 512;
    check(vkEnumerateDeviceExtensionProperties(s->physical, NULL, &count, list) >= VK_SUCCESS);
    for (uint32_t w = 0; w < 3; w++)
        for (uint32_t i = 0; i < count; i++)
            if (!strcmp(list[i].extensionName, wanted[w]))
                s->extensions[s->extension_count++] = wanted[w];
}

static void open_device(struct standin *s)
{
    static const float priority = 1;
    VkDeviceQueueCreateInfo queues[FAMILIES];
    for (uint32_t i = 0; i < s->family_count; i++)
        queues[i] = (VkDeviceQueueCreateInfo){ .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                               .queueFamilyIndex = s->families[i],
                                               .queueCount = 1,
                                               .pQueuePriorities = &priority };
    VkDeviceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &s->features,
                                .queueCreateInfoCount = s->family_count,
                                .pQueueCreateInfos = queues,
                                .enabledExtensionCount = s->extension_count,
                                .ppEnabledExtensionNames = s->extensions };
    check(vkCreateDevice(s->physical, &info, NULL, &s->device) == VK_SUCCESS);
    for (uint32_t i = 0; i < s->family_count; i++)
        vkGetDeviceQueue(s->device, s->families[i], 0, &s->queues[i]);
    vkGetPhysicalDeviceMemoryProperties(s->physical, &s->memory);
    if (s->options.descriptor_heap) /* it only says so */
        s->extensions[s->extension_count++] = "VK_EXT_descriptor_heap";
}

static void make_pipeline(struct standin *s)
{
    const VkDescriptorSetLayoutBinding binding = { 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                   NULL };
    VkDescriptorSetLayoutCreateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .bindingCount = 1,
                                            .pBindings = &binding };
    const VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, 8 };
    VkPipelineLayoutCreateInfo layout = { .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = 1,
                                          .pSetLayouts = &s->set_layout,
                                          .pushConstantRangeCount = 1,
                                          .pPushConstantRanges = &push };
    VkShaderModuleCreateInfo code = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = sizeof(standin_spirv),
                                      .pCode = standin_spirv };
    VkShaderModule module;
    check(vkCreateDescriptorSetLayout(s->device, &set, NULL, &s->set_layout) == VK_SUCCESS);
    check(vkCreatePipelineLayout(s->device, &layout, NULL, &s->layout) == VK_SUCCESS);
    check(vkCreateShaderModule(s->device, &code, NULL, &module) == VK_SUCCESS);
    VkComputePipelineCreateInfo info = { .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                         .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                    .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                    .module = module,
                                                    .pName = "main" },
                                         .layout = s->layout };
    check(vkCreateComputePipelines(s->device, VK_NULL_HANDLE, 1, &info, NULL, &s->pipeline) == VK_SUCCESS);
    vkDestroyShaderModule(s->device, module, NULL);
}

static void device_destroy(struct object *object)
{
    struct standin *s = (struct standin *)object;
    if (s->device) {
        vkDeviceWaitIdle(s->device);
        standin_memory_finish(s);
        vkDestroyPipeline(s->device, s->pipeline, NULL);
        vkDestroyPipelineLayout(s->device, s->layout, NULL);
        vkDestroyDescriptorSetLayout(s->device, s->set_layout, NULL);
        vkDestroyDevice(s->device, NULL);
    }
    vkDestroyInstance(s->instance, NULL);
    free(s);
}

/* ---- ID3D12DXVKInteropDevice ---- */

static struct standin *of(void *interop)
{
    return (struct standin *)(void *)((char *)interop - offsetof(struct standin, interop_slots));
}

static HRESULT STDMETHODCALLTYPE interop_QueryInterface(void *self, REFIID riid, void **out)
{
    struct standin *s = of(self);
    return ((ID3D12Device *)s)->lpVtbl->QueryInterface((ID3D12Device *)s, riid, out);
}

static ULONG STDMETHODCALLTYPE interop_AddRef(void *self)
{
    return object_AddRef(&of(self)->base);
}

static ULONG STDMETHODCALLTYPE interop_Release(void *self)
{
    return object_Release(&of(self)->base);
}

static HRESULT STDMETHODCALLTYPE interop_GetDeviceExtensions(void *self, UINT *count, const char **names)
{
    const struct standin *s = of(self);
    if (names && *count < s->extension_count)
        return E_INVALIDARG;
    for (uint32_t i = 0; names && i < s->extension_count; i++)
        names[i] = s->extensions[i];
    *count = s->extension_count;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_GetDeviceFeatures(void *self, const VkPhysicalDeviceFeatures2 **out)
{
    *out = &of(self)->features;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_GetVulkanHandles(void *self, VkInstance *instance, VkPhysicalDevice *physical,
                                                          VkDevice *device)
{
    const struct standin *s = of(self);
    if (s->options.no_vulkan)
        return E_INVALIDARG;
    *instance = s->instance;
    *physical = s->physical;
    *device = s->device;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_GetVulkanQueueInfo(void *self, struct queue *queue, VkQueue *out,
                                                            UINT32 *family)
{
    const struct standin *s = of(self);
    check(standin_is_queue(queue));
    *out = s->queues[queue->index];
    *family = s->families[queue->index];
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_GetVulkanResourceInfo(void *self, struct resource *resource, UINT64 *handle,
                                                               UINT64 *offset)
{
    check(resource->base.iid == &IID_ID3D12Resource && resource->base.device == of(self) && resource->chunk);
    *handle = (UINT64)(uintptr_t)resource->chunk->buffer;
    *offset = resource->offset;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_Lock(void *self, struct queue *queue)
{
    struct standin *s = of(self);
    check(standin_is_queue(queue) && queue->base.device == s);
    standin_lock(s, queue->index);
    s->counts.locks++;
    s->counts.app_locks += queue->executed;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_Unlock(void *self, struct queue *queue)
{
    struct standin *s = of(self);
    s->counts.unlocks++;
    standin_unlock(s, queue->index);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE interop_Begin(void *self, struct list *list, VkCommandBuffer *out)
{
    struct standin *s = of(self);
    check(list->base.device == s);
    if (s->options.begin_fails)
        return E_INVALIDARG;
    HRESULT hr = list_begin_interop(list, out);
    __atomic_add_fetch(&s->counts.begins, SUCCEEDED(hr), __ATOMIC_RELAXED);
    return hr;
}

static HRESULT STDMETHODCALLTYPE interop_End(void *self, struct list *list)
{
    __atomic_add_fetch(&of(self)->counts.ends, 1, __ATOMIC_RELAXED);
    return list_end_interop(list);
}

/* The newest one's locks are in later slots; the others are unexpected then. */
static void *const *interop_slots(uint32_t newest)
{
    static const struct method base[] = {
        METHOD(struct ID3D12DXVKInteropDevice2, QueryInterface, interop_QueryInterface),
        METHOD(struct ID3D12DXVKInteropDevice2, AddRef, interop_AddRef),
        METHOD(struct ID3D12DXVKInteropDevice2, Release, interop_Release),
        METHOD(struct ID3D12DXVKInteropDevice2, GetDeviceExtensions, interop_GetDeviceExtensions),
        METHOD(struct ID3D12DXVKInteropDevice2, GetDeviceFeatures, interop_GetDeviceFeatures),
        METHOD(struct ID3D12DXVKInteropDevice2, GetVulkanHandles, interop_GetVulkanHandles),
        METHOD(struct ID3D12DXVKInteropDevice2, GetVulkanQueueInfo, interop_GetVulkanQueueInfo),
        METHOD(struct ID3D12DXVKInteropDevice2, GetVulkanResourceInfo, interop_GetVulkanResourceInfo),
        METHOD(struct ID3D12DXVKInteropDevice2, BeginVkCommandBufferInterop, interop_Begin),
        METHOD(struct ID3D12DXVKInteropDevice2, EndVkCommandBufferInterop, interop_End),
        METHOD(struct ID3D12DXVKInteropDevice2, LockVulkanQueue, interop_Lock),
        METHOD(struct ID3D12DXVKInteropDevice2, UnlockVulkanQueue, interop_Unlock),
    };
    static void **tables[2];
    void **slots = tables[newest >= 2];
    if (slots)
        return slots;
    slots = tables[newest >= 2] = (void **)(uintptr_t)TABLE(base);
    slots[3] = standin_unexpected[3]; /* not an ID3D12Object's */
    if (newest < 2) {
        slots[18] = standin_unexpected[18];
        slots[19] = standin_unexpected[19];
        slots[11] = (void *)interop_Lock;
        slots[12] = (void *)interop_Unlock;
    }
    return slots;
}

/* ---- ID3D12Device ---- */

static HRESULT STDMETHODCALLTYPE device_QueryInterface(struct standin *s, REFIID riid, void **out)
{
    const IID *const interops[] = { &vkd3d_iid_interop, &vkd3d_iid_interop1, &vkd3d_iid_interop2 };
    for (uint32_t i = 0; s->options.interop < 3 && i <= s->options.interop; i++)
        if (!memcmp(riid, interops[i], sizeof(IID))) {
            object_AddRef(&s->base);
            *out = &s->interop_slots;
            return S_OK;
        }
    return object_QueryInterface(&s->base, riid, out);
}

static UINT STDMETHODCALLTYPE device_GetDescriptorHandleIncrementSize(struct standin *s,
                                                                      D3D12_DESCRIPTOR_HEAP_TYPE type)
{
    (void)s, (void)type;
    return STEP;
}

static HRESULT STDMETHODCALLTYPE device_GetDeviceRemovedReason(struct standin *s)
{
    return atomic_load(&s->reason);
}

static HRESULT STDMETHODCALLTYPE device_CreateCommandQueue(struct standin *s, const D3D12_COMMAND_QUEUE_DESC *desc,
                                                           REFIID riid, void **out)
{
    s->counts.queues++;
    return standin_create_queue(s, desc, riid, out);
}

static void *const *device_slots(void)
{
    static const struct method methods[] = {
        METHOD(ID3D12Device, QueryInterface, device_QueryInterface),
        METHOD(ID3D12Device, CreateCommandQueue, device_CreateCommandQueue),
        METHOD(ID3D12Device, CreateCommandAllocator, standin_create_allocator),
        METHOD(ID3D12Device, CreateCommandList, standin_create_list),
        METHOD(ID3D12Device, CreateDescriptorHeap, standin_create_descriptor_heap),
        METHOD(ID3D12Device, GetDescriptorHandleIncrementSize, device_GetDescriptorHandleIncrementSize),
        METHOD(ID3D12Device, CreateCommittedResource, standin_CreateCommittedResource),
        METHOD(ID3D12Device, CreateHeap, standin_create_heap),
        METHOD(ID3D12Device, CreatePlacedResource, standin_CreatePlacedResource),
        METHOD(ID3D12Device, CreateReservedResource, standin_CreateReservedResource),
        METHOD(ID3D12Device, CreateFence, standin_create_fence),
        METHOD(ID3D12Device, GetDeviceRemovedReason, device_GetDeviceRemovedReason),
    };
    static void *const *slots;
    if (!slots)
        slots = TABLE(methods);
    return slots;
}

ID3D12Device *standin_create(const struct standin_options *options)
{
    struct standin *s = calloc(1, sizeof(*s));
    check(s);
    s->base =
        (struct object){ .slots = device_slots(), .device = s, .iid = &IID_ID3D12Device, .destroy = device_destroy };
    atomic_init(&s->base.refs, 1);
    atomic_init(&s->reason, S_OK);
    s->options = *options;
    s->interop_slots = interop_slots(options->interop);
    pthread_mutex_init(&s->lock, NULL);
    for (uint32_t i = 0; i < FAMILIES; i++)
        pthread_mutex_init(&s->queue_locks[i], NULL);
    if (!find_physical(s)) {
        device_destroy(&s->base);
        return NULL;
    }
    find_extensions(s);
    open_device(s);
    make_pipeline(s);
    return (ID3D12Device *)s;
}

void standin_remove(ID3D12Device *device, HRESULT reason)
{
    atomic_store(&((struct standin *)device)->reason, reason);
}

struct standin_counts standin_counts(ID3D12Device *device)
{
    return ((struct standin *)device)->counts;
}

const char *standin_name(ID3D12Device *device)
{
    return ((struct standin *)device)->properties.deviceName;
}

void standin_set_begin_fails(ID3D12Device *device, bool fails)
{
    ((struct standin *)device)->options.begin_fails = fails;
}
