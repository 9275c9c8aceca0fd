/* SPDX-License-Identifier: Apache-2.0 */
/* IEEE 754 binary16 and bfloat16 <-> binary32, round to nearest even; infinities, NaN and subnormals are preserved.
 * Bulk conversions are kernels (kernels/map_load.c); these are the portable definitions. */
#ifndef BASE_HALF_H
#define BASE_HALF_H

#include "base/base.h"

float base_half_to_float(uint16_t half);
uint16_t base_float_to_half(float value);

/* Rounds once, directly to binary16 (through float would round twice). */
uint16_t base_double_to_half(double value);

/* bfloat16: the upper half of a binary32, rounded to nearest even; NaN stays NaN. */
static inline float base_bfloat_to_float(uint16_t bfloat)
{
    return base_bits_to_float((uint32_t)bfloat << 16);
}

static inline uint16_t base_float_to_bfloat(float value)
{
    uint32_t bits = base_float_to_bits(value);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (uint16_t)((value != value ? bits | 0x400000 : rounded) >> 16);
}

uint16_t base_double_to_bfloat(double value); /* rounds once */

#endif
