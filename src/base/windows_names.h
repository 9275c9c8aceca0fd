/* SPDX-License-Identifier: Apache-2.0 */
/* Included first in builds for Windows, whose headers define words that C leaves to programs. */
#ifndef BASE_WINDOWS_NAMES_H
#define BASE_WINDOWS_NAMES_H

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#define COBJMACROS
#include <windows.h>
#include <unknwn.h>

#undef near
#undef far
#undef small
#undef FAR
#undef NEAR
#undef OPTIONAL
#undef PLANES
#define FAR

#endif
