/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every other file of DirectML.h: Direct3D 12, the target version, the constants. */
#ifndef ANYDML_DML_BASE_H
#define ANYDML_DML_BASE_H

#include "../anydml_d3d12.h"

/*
 * DML_TARGET_VERSION is the feature level a program is written for, as 0xMmrr (0x6400 is 6.4). Declarations of later
 * levels are hidden, so that a program cannot use by mistake what an older runtime lacks. If the program does not
 * define it, everything is visible, as with DML_TARGET_VERSION_USE_LATEST.
 */
#ifndef DML_TARGET_VERSION
#define DML_TARGET_VERSION 0x6400
#endif

/* Maximum number of dimensions of a tensor before and from level 3.0, and alignments in bytes. */
#ifdef __cplusplus
static const UINT DML_TENSOR_DIMENSION_COUNT_MAX = 5;
#if DML_TARGET_VERSION >= 0x3000
static const UINT DML_TENSOR_DIMENSION_COUNT_MAX1 = 8;
#endif
static const UINT DML_TEMPORARY_BUFFER_ALIGNMENT = 256;
static const UINT DML_PERSISTENT_BUFFER_ALIGNMENT = 256;
static const UINT DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT = 16;
#else /* macros, because a const object is not a constant expression in C */
#define DML_TENSOR_DIMENSION_COUNT_MAX ((UINT)5)
#if DML_TARGET_VERSION >= 0x3000
#define DML_TENSOR_DIMENSION_COUNT_MAX1 ((UINT)8)
#endif
#define DML_TEMPORARY_BUFFER_ALIGNMENT      ((UINT)256)
#define DML_PERSISTENT_BUFFER_ALIGNMENT     ((UINT)256)
#define DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT ((UINT)16)
#endif

#endif
