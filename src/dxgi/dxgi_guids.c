/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the IIDs of DXGI for dxgi.dll. */
#include <initguid.h>

#include <dxgi1_6.h>
