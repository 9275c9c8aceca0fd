/* SPDX-License-Identifier: Apache-2.0 */
/* Stores past the caches, for outputs larger than what the caches keep until somebody reads them: memory is then
 * written without being read first, and the inputs stay. */
#ifndef KERNELS_STREAM_H
#define KERNELS_STREAM_H

#include "kernels/core/kernel.h"

/* Is this output large enough? */
bool kern_streams(const struct kern_view *view);

/* Bytes that are large enough; 0 restores the usual number (tests only, while nothing runs). */
void kern_stream_least(uint64_t bytes);

/* memcpy past the caches; for runs of whole cache lines, or long ones. */
void kern_stream(void *out, const void *in, uint64_t bytes);

/* kern_copy_row of many elements to a row without gaps. */
void kern_stream_row(uint32_t bytes, void *out, const void *in, int64_t in_stride, uint64_t count);

/* After the last store of a run: other threads may then read. */
void kern_stream_end(void);

#endif
