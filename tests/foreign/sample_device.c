/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for samples/d3d12_upscale.c, which uses public headers alone. */
#include "standin.h"

ID3D12Device *standin_sample_device(void);
ID3D12Device *standin_sample_device(void)
{
    return standin_create(&(struct standin_options){ .interop = 2 });
}
