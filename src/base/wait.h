/* SPDX-License-Identifier: Apache-2.0 */
/* How threads wait for a word: on the CPU, or asleep. */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include "base/base.h"

#include <stdatomic.h>

static inline void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleeps while the word is `value`; may wake spuriously, so the caller checks again. (Part of the system's file,
 * os.h.) */
void base_wait_word(_Atomic uint32_t *word, uint32_t value);
/* Wakes one that sleeps so. */
void base_wake_word(_Atomic uint32_t *word);

#endif
