/* SPDX-License-Identifier: Apache-2.0 */
#include "d3d12/command_list_stubs.h"

#include "d3d12/lists.h"

static void absent(void *iface, const char *method)
{
    struct d3d_command_list *list = iface;
    if (d3d_list_recording(list, method))
        d3d_list_fail(list, E_NOTIMPL, "ID3D12GraphicsCommandList::%s: not part of this compute-only runtime", method);
}

#undef ABSENT
#undef OPTIONAL
#define ABSENT(name)                                                                                                   \
    void d3d_command_list_##name(void *iface)                                                                          \
    {                                                                                                                  \
        absent(iface, #name);                                                                                          \
    }
#define OPTIONAL(name)                                                                                                 \
    void d3d_command_list_##name(void *iface, void *argument)                                                          \
    {                                                                                                                  \
        if (argument)                                                                                                  \
            absent(iface, #name);                                                                                      \
    }
#include "d3d12/command_list_stubs.def"
