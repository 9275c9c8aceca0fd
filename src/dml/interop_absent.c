/* SPDX-License-Identifier: Apache-2.0 */
/* libdirectml's function of anydml_vulkan.h in a build without Vulkan, which does not have its types. */
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
