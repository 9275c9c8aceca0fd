/* SPDX-License-Identifier: Apache-2.0 */
/* There is no DXGI but on Windows. */
#include "d3d12/objects.h"

bool d3d_dxgi_luid(IUnknown *unknown, LUID *out)
{
    (void)unknown, (void)out;
    return false;
}
