/* SPDX-License-Identifier: Apache-2.0 */
/* The interfaces by which vkd3d-proton gives its Vulkan objects to others, as C method tables: slots and identifiers
 * only. A device answers QueryInterface for them; the later ones extend the earlier. */
#ifndef FOREIGN_VKD3D_H
#define FOREIGN_VKD3D_H

#define VK_NO_PROTOTYPES
#include <anydml_d3d12.h>
#include <vulkan/vulkan_core.h>

/* {39da4e09-bd1c-4198-9fae-86bbe3be41fd}, 2.9 */
static const IID vkd3d_iid_interop = { 0x39da4e09, 0xbd1c, 0x4198, { 0x9f, 0xae, 0x86, 0xbb, 0xe3, 0xbe, 0x41, 0xfd } };
/* {902d8115-59eb-4406-9518-fe00f991ee65}, 2.14 */
static const IID vkd3d_iid_interop1 = {
    0x902d8115, 0x59eb, 0x4406, { 0x95, 0x18, 0xfe, 0x00, 0xf9, 0x91, 0xee, 0x65 }
};
/* {90ecf26e-b212-43f5-b62a-825ad7b1385e}, 3.0 */
static const IID vkd3d_iid_interop2 = {
    0x90ecf26e, 0xb212, 0x43f5, { 0xb6, 0x2a, 0x82, 0x5a, 0xd7, 0xb1, 0x38, 0x5e }
};

typedef struct ID3D12DXVKInteropDevice2 ID3D12DXVKInteropDevice2;

struct ID3D12DXVKInteropDevice2Vtbl {
    HRESULT(STDMETHODCALLTYPE *QueryInterface)(ID3D12DXVKInteropDevice2 *self, REFIID riid, void **out);
    ULONG(STDMETHODCALLTYPE *AddRef)(ID3D12DXVKInteropDevice2 *self);
    ULONG(STDMETHODCALLTYPE *Release)(ID3D12DXVKInteropDevice2 *self);

    /* ID3D12DXVKInteropDevice */
    HRESULT(STDMETHODCALLTYPE *GetDXGIAdapter)(ID3D12DXVKInteropDevice2 *self, REFIID riid, void **out);
    HRESULT(STDMETHODCALLTYPE *GetInstanceExtensions)(ID3D12DXVKInteropDevice2 *self, UINT *count, const char **names);
    /* names NULL: the count; else *count is its room. They live as long as the device. */
    HRESULT(STDMETHODCALLTYPE *GetDeviceExtensions)(ID3D12DXVKInteropDevice2 *self, UINT *count, const char **names);
    /* The chain that vkCreateDevice was given; lives as long as the device. */
    HRESULT(STDMETHODCALLTYPE *GetDeviceFeatures)
    (ID3D12DXVKInteropDevice2 *self, const VkPhysicalDeviceFeatures2 **out);
    HRESULT(STDMETHODCALLTYPE *GetVulkanHandles)
    (ID3D12DXVKInteropDevice2 *self, VkInstance *instance, VkPhysicalDevice *physical, VkDevice *device);
    HRESULT(STDMETHODCALLTYPE *GetVulkanQueueInfo)
    (ID3D12DXVKInteropDevice2 *self, ID3D12CommandQueue *queue, VkQueue *out, UINT32 *family);
    void(STDMETHODCALLTYPE *GetVulkanImageLayout)(ID3D12DXVKInteropDevice2 *self, ID3D12Resource *resource,
                                                  D3D12_RESOURCE_STATES state, VkImageLayout *out);
    /* Of a buffer: the VkBuffer, and the offset in it. Believes that the resource is its own. */
    HRESULT(STDMETHODCALLTYPE *GetVulkanResourceInfo)
    (ID3D12DXVKInteropDevice2 *self, ID3D12Resource *resource, UINT64 *handle, UINT64 *offset);
    /* Wait for what the queue was given, then hold its VkQueue. */
    HRESULT(STDMETHODCALLTYPE *LockCommandQueue)(ID3D12DXVKInteropDevice2 *self, ID3D12CommandQueue *queue);
    HRESULT(STDMETHODCALLTYPE *UnlockCommandQueue)(ID3D12DXVKInteropDevice2 *self, ID3D12CommandQueue *queue);

    /* ID3D12DXVKInteropDevice1 */
    HRESULT(STDMETHODCALLTYPE *GetVulkanResourceInfo1)
    (ID3D12DXVKInteropDevice2 *self, ID3D12Resource *resource, UINT64 *handle, UINT64 *offset, VkFormat *format);
    HRESULT(STDMETHODCALLTYPE *CreateInteropCommandQueue)
    (ID3D12DXVKInteropDevice2 *self, const D3D12_COMMAND_QUEUE_DESC *desc, UINT32 family, ID3D12CommandQueue **out);
    HRESULT(STDMETHODCALLTYPE *CreateInteropCommandAllocator)
    (ID3D12DXVKInteropDevice2 *self, D3D12_COMMAND_LIST_TYPE type, UINT32 family, ID3D12CommandAllocator **out);
    /* The list's VkCommandBuffer, outside of rendering, until End; the list sets its state again afterwards. In between
     * no method of the list may be called. It does not look whether the list is open. */
    HRESULT(STDMETHODCALLTYPE *BeginVkCommandBufferInterop)
    (ID3D12DXVKInteropDevice2 *self, ID3D12CommandList *list, VkCommandBuffer *out);
    HRESULT(STDMETHODCALLTYPE *EndVkCommandBufferInterop)(ID3D12DXVKInteropDevice2 *self, ID3D12CommandList *list);

    /* ID3D12DXVKInteropDevice2: the VkQueue alone. */
    HRESULT(STDMETHODCALLTYPE *LockVulkanQueue)(ID3D12DXVKInteropDevice2 *self, ID3D12CommandQueue *queue);
    HRESULT(STDMETHODCALLTYPE *UnlockVulkanQueue)(ID3D12DXVKInteropDevice2 *self, ID3D12CommandQueue *queue);
};

struct ID3D12DXVKInteropDevice2 {
    const struct ID3D12DXVKInteropDevice2Vtbl *lpVtbl;
};

/* Methods that return structs take the struct's address after the object, on Linux as well, where the headers and the
 * objects of this runtime return them by value. */
static inline D3D12_RESOURCE_DESC vkd3d_resource_desc(ID3D12Resource *resource)
{
    typedef D3D12_RESOURCE_DESC *(STDMETHODCALLTYPE * get_desc)(ID3D12Resource *, D3D12_RESOURCE_DESC *);
    D3D12_RESOURCE_DESC desc;
    ((get_desc)(void *)resource->lpVtbl->GetDesc)(resource, &desc);
    return desc;
}

#endif
