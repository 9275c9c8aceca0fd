/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the IIDs of the Direct3D headers once for the library. */
#define INITGUID
#include <anydml_d3d12.h>
