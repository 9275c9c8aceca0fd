/* SPDX-License-Identifier: Apache-2.0 */
/* DXGI exists on Windows only. */
#include "d3d12/objects.h"

bool d3d_dxgi_luid(IUnknown *unknown, LUID *out)
{
    (void)unknown, (void)out;
    return false;
}
