/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the IIDs of the Direct3D headers once for the library. */
#ifdef _WIN32
#include <initguid.h>
#else
#define INITGUID
#endif
#include <anydml_d3d12.h>
