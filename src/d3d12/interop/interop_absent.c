/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of anydml_vulkan.h in a build without Vulkan, which does not have its types. */
#include "d3d12/private.h"

#define ABSENT(name)                                                                                                   \
    __attribute__((visibility("default"))) HRESULT name(void);                                                         \
    HRESULT name(void)                                                                                                 \
    {                                                                                                                  \
        return DXGI_ERROR_UNSUPPORTED;                                                                                 \
    }

ABSENT(AnydmlVulkanCreateDevice)
ABSENT(AnydmlVulkanCreateFence)
ABSENT(AnydmlVulkanCreateSharedBuffer)
ABSENT(AnydmlVulkanExportMemory)
ABSENT(AnydmlVulkanGetBuffer)
ABSENT(AnydmlVulkanGetSemaphore)
ABSENT(AnydmlVulkanOpenBuffer)
ABSENT(AnydmlVulkanOpenMemory)

/* AnydmlDevice's part. */

HRESULT d3d_private_ResolveBindings(AnydmlDevice *iface, D3D12_GPU_DESCRIPTOR_HANDLE handle, UINT count,
                                    const struct anydml_buffer *buffers, struct adapter_binding *out, char *message)
{
    (void)iface, (void)handle, (void)count, (void)buffers, (void)out, (void)message;
    return DXGI_ERROR_UNSUPPORTED;
}

HRESULT d3d_private_RecordCommands(AnydmlDevice *iface, void *commands, struct adapter_dispatch *dispatch,
                                   const struct adapter_binding *bindings, UINT count, struct adapter_recorded **io,
                                   char *message)
{
    (void)iface, (void)commands, (void)dispatch, (void)bindings, (void)count, (void)io, (void)message;
    return DXGI_ERROR_UNSUPPORTED;
}

void d3d_private_DestroyRecorded(AnydmlDevice *iface, struct adapter_recorded *recorded)
{
    (void)iface, (void)recorded;
}
