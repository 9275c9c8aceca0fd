/* SPDX-License-Identifier: Apache-2.0 */
/* In a build without Vulkan. */
#include "foreign/foreign.h"

HRESULT foreign_open(ID3D12Device *parent, AnydmlDevice **out, char *message)
{
    (void)parent, (void)out, (void)message;
    return E_NOINTERFACE;
}
