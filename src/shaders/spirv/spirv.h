/* SPDX-License-Identifier: Apache-2.0 */
/* Specialises SPIR-V modules: a module becomes the one that its compiler would have made had it known the
 * specialization constants, with nothing that depends on them alone. Functions get a copy for each combination of
 * constants with which they are called; branches that are never taken, with all that only they use, are dropped.
 * Arithmetic on data stays as it is, so that results do not change by a bit. Drivers would do the same after they have
 * copied every function into its callers, which takes them a hundred times as long for shaders that interpret
 * constants. */
#ifndef SHADERS_SPIRV_H
#define SHADERS_SPIRV_H

#include "base/base.h"

/* The value of a specialization constant: all have 4 bytes; of a bool 0 or 1. */
struct spirv_constant {
    uint32_t id; /* SpecId */
    uint32_t value;
};

/* The specialised module, for the caller to free, which has no specialization constants: those that `constants` does
 * not name have their defaults. NULL: out of memory, or the module has something that this does not know; it can be
 * used as it is. The result depends on the arguments alone. */
uint32_t *spirv_specialize(const uint32_t *words, size_t count, const struct spirv_constant *constants,
                           uint32_t constant_count, size_t *out_count);

#endif
