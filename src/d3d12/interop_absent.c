/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of anydml_vulkan.h, whose types such a build does not know, in one without Vulkan. */
#include "base/base.h"

#include <anydml_d3d12.h>

#define ABSENT(name)                                                                                                   \
    __attribute__((visibility("default"))) HRESULT name(void);                                                         \
    HRESULT name(void)                                                                                                 \
    {                                                                                                                  \
        return DXGI_ERROR_UNSUPPORTED;                                                                                 \
    }

ABSENT(AnydmlVulkanCreateDevice)
ABSENT(AnydmlVulkanCreateSharedBuffer)
ABSENT(AnydmlVulkanExportMemory)
ABSENT(AnydmlVulkanGetBuffer)
ABSENT(AnydmlVulkanOpenBuffer)
ABSENT(AnydmlVulkanOpenMemory)
