/* SPDX-License-Identifier: Apache-2.0 */
/* libdirectml's function of anydml_vulkan.h, whose types such a build does not know, in one without Vulkan. */
#include "dml/dml.h"

__attribute__((visibility("default"))) HRESULT AnydmlVulkanRecordDispatch(void);
HRESULT AnydmlVulkanRecordDispatch(void)
{
    return DXGI_ERROR_UNSUPPORTED;
}

void dml_recorded_destroy(struct dml_binding_table *table)
{
    (void)table;
}
