/* SPDX-License-Identifier: Apache-2.0 */
/* DirectML on Direct3D 12 devices of vkd3d-proton, which record draws into Vulkan command buffers: dispatches are
 * recorded into the same ones. A device of another runtime is served by an AnydmlDevice over the Vulkan adapter. */
#ifndef FOREIGN_FOREIGN_H
#define FOREIGN_FOREIGN_H

#include "d3d12/private.h"

/* All callers over one device get the same object. E_NOINTERFACE: the device is not one of vkd3d-proton; `message`
 * (ADAPTER_MESSAGE_BYTES) receives the reason of other failures. */
HRESULT foreign_open(ID3D12Device *parent, AnydmlDevice **out, char *message);

#endif
