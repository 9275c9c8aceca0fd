/* SPDX-License-Identifier: Apache-2.0 */
/* From a device of vkd3d-proton to one of the Vulkan adapter over the same VkDevice. */
#include "foreign/device.h"

#include "base/log.h"
#include "base/os.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* LUIDs of listed adapters have their family's number there (d3d12/adapters.c). */
#define LUID_HIGH    0x414e
#define LUID_FOREIGN 0xf0000u

#define VKD3D_NEEDED "vkd3d-proton 2.14 or newer"

#ifdef _WIN32
/* The order in which vkd3d-proton looks for it. In Wine, the second one forwards to the first, unless a program brings
 * its own. */
static const char *const loaders[] = { "winevulkan.dll", BASE_VULKAN_LOADER };
#else
static const char *const loaders[] = { BASE_VULKAN_LOADER };
#endif

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct foreign_device *list;

/* ---- life ---- */

ULONG foreign_device_AddRef(AnydmlDevice *self)
{
    pthread_mutex_lock(&list_lock);
    const uint32_t refs = ++foreign_from(self)->refs;
    pthread_mutex_unlock(&list_lock);
    return refs;
}

static void device_destroy(struct foreign_device *device)
{
    foreign_ranges_finish(device);
    if (device->adapter)
        adapter_vulkan_ops.device_destroy(device->adapter);
    if (device->queue)
        ID3D12CommandQueue_Release(device->queue);
    if (device->interop)
        device->interop->lpVtbl->Release(device->interop);
    ID3D12Device_Release(device->parent);
    free(device);
}

ULONG foreign_device_Release(AnydmlDevice *self)
{
    struct foreign_device *device = foreign_from(self);
    pthread_mutex_lock(&list_lock);
    const uint32_t refs = --device->refs;
    for (struct foreign_device **at = &list; *at && !refs; at = &(*at)->next)
        if (*at == device) {
            *at = device->next;
            break;
        }
    pthread_mutex_unlock(&list_lock);
    if (!refs)
        device_destroy(device);
    return refs;
}

/* ---- what the parent reports ---- */

/* What vkCreateDevice was given, as far as it matters. */
struct chain {
    VkDeviceCreateInfo info;
    const char **names;
    uint32_t families[2]; /* of DIRECT and of COMPUTE queues */
    VkQueue queue;
};

BASE_PRINTF(2, 3) static HRESULT refuse(char *message, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, ADAPTER_MESSAGE_BYTES, format, args);
    va_end(args);
    return DXGI_ERROR_UNSUPPORTED;
}

static HRESULT find_interop(struct foreign_device *device, char *message)
{
    IUnknown *old = NULL;
    ID3D12Device *parent = device->parent;
    device->has_queue_lock =
        SUCCEEDED(ID3D12Device_QueryInterface(parent, &vkd3d_iid_interop2, (void **)&device->interop)) &&
        device->interop;
    if (device->has_queue_lock)
        return S_OK;
    device->interop = NULL;
    if (SUCCEEDED(ID3D12Device_QueryInterface(parent, &vkd3d_iid_interop1, (void **)&device->interop)) &&
        device->interop)
        return S_OK;
    device->interop = NULL;
    if (FAILED(ID3D12Device_QueryInterface(parent, &vkd3d_iid_interop, (void **)&old)) || !old)
        return E_NOINTERFACE;
    old->lpVtbl->Release(old);
    return refuse(message,
                  "d3d12Device is of an old vkd3d-proton, whose lists take no commands of others: " VKD3D_NEEDED
                  " is needed");
}

static HRESULT ask_extensions(struct foreign_device *device, struct chain *chain, char *message)
{
    ID3D12DXVKInteropDevice2 *interop = device->interop;
    UINT count = 0;
    if (FAILED(interop->lpVtbl->GetDeviceExtensions(interop, &count, NULL)))
        return refuse(message, "vkd3d-proton reports no extensions of its device");
    chain->names = calloc(count + 1u, sizeof(*chain->names));
    if (!chain->names)
        return E_OUTOFMEMORY;
    if (FAILED(interop->lpVtbl->GetDeviceExtensions(interop, &count, chain->names)))
        return refuse(message, "vkd3d-proton reports no extensions of its device");
    for (UINT i = 0; i < count; i++)
        device->has_descriptor_heap |= !strcmp(chain->names[i], "VK_EXT_descriptor_heap");
    chain->info.enabledExtensionCount = count;
    chain->info.ppEnabledExtensionNames = chain->names;
    return S_OK;
}

/* A queue of that type; its family, and its VkQueue. */
static HRESULT ask_queue(struct foreign_device *device, D3D12_COMMAND_LIST_TYPE type, ID3D12CommandQueue **out,
                         VkQueue *out_queue, uint32_t *out_family, char *message)
{
    const D3D12_COMMAND_QUEUE_DESC desc = { .Type = type };
    HRESULT hr = ID3D12Device_CreateCommandQueue(device->parent, &desc, &IID_ID3D12CommandQueue, (void **)out);
    if (SUCCEEDED(hr))
        hr = device->interop->lpVtbl->GetVulkanQueueInfo(device->interop, *out, out_queue, out_family);
    return FAILED(hr) || !*out_queue
               ? refuse(message, "d3d12Device has no Vulkan queue of type %s (0x%08x)",
                        type == D3D12_COMMAND_LIST_TYPE_DIRECT ? "DIRECT" : "COMPUTE", (unsigned)hr)
               : S_OK;
}

/* The adapter's memory is used by commands of both families. */
static HRESULT ask_queues(struct foreign_device *device, struct chain *chain, char *message)
{
    ID3D12CommandQueue *direct = NULL;
    VkQueue unused = VK_NULL_HANDLE;
    HRESULT hr = ask_queue(device, D3D12_COMMAND_LIST_TYPE_DIRECT, &direct, &unused, &chain->families[0], message);
    if (direct)
        ID3D12CommandQueue_Release(direct);
    if (FAILED(hr))
        return hr;
    return ask_queue(device, D3D12_COMMAND_LIST_TYPE_COMPUTE, &device->queue, &chain->queue, &chain->families[1],
                     message);
}

/* ---- the adapter ---- */

static void STDMETHODCALLTYPE enter_queue(void *context, VkQueue queue)
{
    struct foreign_device *device = context;
    (void)queue;
    if (device->has_queue_lock)
        device->interop->lpVtbl->LockVulkanQueue(device->interop, device->queue);
    else
        device->interop->lpVtbl->LockCommandQueue(device->interop, device->queue);
}

static void STDMETHODCALLTYPE leave_queue(void *context, VkQueue queue)
{
    struct foreign_device *device = context;
    (void)queue;
    if (device->has_queue_lock)
        device->interop->lpVtbl->UnlockVulkanQueue(device->interop, device->queue);
    else
        device->interop->lpVtbl->UnlockCommandQueue(device->interop, device->queue);
}

/* Of the loader that made the parent's instance; it stays in memory. */
static PFN_vkGetInstanceProcAddr find_loader(char *message)
{
    char why[256] = "";
    void *library = NULL;
    for (uint32_t i = 0; i < ARRAY_SIZE(loaders) && !library; i++)
        library = base_library_loaded(loaders[i]);
    for (uint32_t i = 0; i < ARRAY_SIZE(loaders) && !library; i++)
        library = base_library_open(loaders[i], why, sizeof(why));
    PFN_vkGetInstanceProcAddr get =
        library ? (PFN_vkGetInstanceProcAddr)base_library_symbol(library, "vkGetInstanceProcAddr") : NULL;
    if (!get)
        refuse(message, "the Vulkan loader is not found: %s", why);
    return get;
}

static HRESULT adopt(struct foreign_device *device, struct chain *chain, char *message)
{
    static _Atomic uint32_t count;
    ID3D12DXVKInteropDevice2 *interop = device->interop;
    const VkPhysicalDeviceFeatures2 *features = NULL;
    struct anydml_vulkan_device desc = {
        .GetInstanceProcAddr = find_loader(message),
        .ApiVersion = VK_API_VERSION_1_3,
        .CreateInfo = &chain->info,
        .QueueFamily = chain->families[1],
        .QueueCount = 1,
        .Queues = &chain->queue,
        .Lock = enter_queue,
        .Unlock = leave_queue,
        .Context = device,
    };
    const struct adapter_adoption adoption = { &desc, chain->families, ARRAY_SIZE(chain->families), true };
    if (!desc.GetInstanceProcAddr)
        return DXGI_ERROR_UNSUPPORTED;
    if (FAILED(interop->lpVtbl->GetVulkanHandles(interop, &desc.Instance, &desc.PhysicalDevice, &desc.Device)) ||
        FAILED(interop->lpVtbl->GetDeviceFeatures(interop, &features)) || !features)
        return refuse(message, "vkd3d-proton reports no Vulkan device");
    chain->info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    chain->info.pNext = features;
    HRESULT hr = adapter_vulkan_interop.device_adopt(&adoption, &device->info, &device->adapter, message);
    device->info.ops = &adapter_vulkan_ops;
    device->info.luid =
        (LUID){ .LowPart = LUID_FOREIGN + (atomic_fetch_add(&count, 1) & 0xffffu), .HighPart = LUID_HIGH };
    return hr == E_INVALIDARG ? DXGI_ERROR_UNSUPPORTED : hr;
}

/* ---- the whole ---- */

static void tell_trap(struct foreign_device *device)
{
    if (device->has_descriptor_heap)
        foreign_message(device, D3D12_MESSAGE_SEVERITY_WARNING,
                        "DMLCreateDevice: this vkd3d-proton keeps descriptors in VK_EXT_descriptor_heap, whose binding "
                        "in a list is undone by RecordDispatch, and restored by SetDescriptorHeaps with other heaps "
                        "alone: draw with another heap than the one of the binding tables, or start it without "
                        "VKD3D_CONFIG=descriptor_heap");
}

static HRESULT fill(struct foreign_device *device, char *message)
{
    struct chain chain = { { 0 }, NULL, { 0 }, VK_NULL_HANDLE };
    HRESULT hr = find_interop(device, message); /* before any method that another device may not have */
    if (SUCCEEDED(hr))
        device->ranges.step =
            ID3D12Device_GetDescriptorHandleIncrementSize(device->parent, D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV);
    if (SUCCEEDED(hr) && !device->ranges.step)
        hr = refuse(message, "d3d12Device has descriptors of 0 bytes");
    if (SUCCEEDED(hr))
        hr = ask_extensions(device, &chain, message);
    if (SUCCEEDED(hr))
        hr = ask_queues(device, &chain, message);
    if (SUCCEEDED(hr))
        hr = adopt(device, &chain, message);
    free(chain.names);
    return hr;
}

static HRESULT create(ID3D12Device *parent, IUnknown *identity, struct foreign_device **out, char *message)
{
    struct foreign_device *device = calloc(1, sizeof(*device));
    if (!device)
        return E_OUTOFMEMORY;
    device->base.lpVtbl = &foreign_device_vtbl;
    device->refs = 1;
    device->parent = parent;
    device->identity = identity;
    ID3D12Device_AddRef(parent);
    atomic_init(&device->reason, S_OK);
    atomic_init(&device->ranges.doubts, 0);
    pthread_mutex_init(&device->ranges.lock, NULL);
    HRESULT hr = fill(device, message);
    if (SUCCEEDED(hr))
        *out = device;
    else
        device_destroy(device);
    return hr;
}

/* Under the lock, so that each parent has one. */
static HRESULT find_or_create(ID3D12Device *parent, IUnknown *identity, struct foreign_device **out, char *message)
{
    for (struct foreign_device *device = list; device; device = device->next)
        if (device->identity == identity) {
            device->refs++;
            *out = device;
            return S_OK;
        }
    HRESULT hr = create(parent, identity, out, message);
    if (FAILED(hr))
        return hr;
    (*out)->next = list;
    list = *out;
    return S_OK;
}

HRESULT foreign_open(ID3D12Device *parent, AnydmlDevice **out, char *message)
{
    IUnknown *identity = NULL;
    struct foreign_device *device = NULL;
    *message = '\0';
    if (FAILED(ID3D12Device_QueryInterface(parent, &IID_IUnknown, (void **)&identity)) || !identity)
        return E_NOINTERFACE;
    identity->lpVtbl->Release(identity); /* the parent keeps it */
    pthread_mutex_lock(&list_lock);
    HRESULT hr = find_or_create(parent, identity, &device, message);
    pthread_mutex_unlock(&list_lock);
    if (FAILED(hr))
        return hr;
    base_library_stay(foreign_open); /* resources call it when they are destroyed */
    tell_trap(device);
    *out = &device->base;
    return S_OK;
}
