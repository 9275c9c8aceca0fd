/* SPDX-License-Identifier: Apache-2.0 */
/* The list of adapters that libd3d12 has, for itself and for libdxcore and libdxgi. */
#include "d3d12/adapter.h"

const struct adapter_registry *adapter_registry(void)
{
    return &adapter_own_registry;
}

/* Private to these libraries, which are of one build. */
__attribute__((visibility("default"))) adapter_registry_fn AnydmlAdapterRegistry;

const struct adapter_registry *AnydmlAdapterRegistry(void)
{
    return &adapter_own_registry;
}
