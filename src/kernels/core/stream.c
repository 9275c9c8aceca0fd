/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/core/stream.h"

#include "kernels/core/iterator.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { MIN_BYTES = 16 << 20, LINE = 64, PIECE_BYTES = 4096 };

static uint64_t min_bytes = MIN_BYTES;

void kern_stream_least(uint64_t bytes)
{
    min_bytes = bytes ? bytes : MIN_BYTES;
}

bool kern_streams(const struct kern_view *view)
{
    return kern_view_elements(view) * kern_type_bytes(view->type) >= min_bytes;
}

void kern_stream(void *out, const void *in, uint64_t bytes)
{
    uint64_t at = 0;
#if defined(__SSE2__)
    /* Lines that are not whole are left to the caches. */
    at = BASE_MIN((LINE - (uintptr_t)out % LINE) % LINE, bytes);
    if (at)
        memcpy(out, in, at);
    for (; at + LINE <= bytes; at += LINE) {
        const __m128i *from = (const __m128i *)((const char *)in + at);
        __m128i *to = (__m128i *)((char *)out + at);
        __m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
        __m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);
        _mm_stream_si128(to, a);
        _mm_stream_si128(to + 1, b);
        _mm_stream_si128(to + 2, c);
        _mm_stream_si128(to + 3, d);
    }
#endif
    if (at < bytes)
        memcpy((char *)out + at, (const char *)in + at, bytes - at);
}

void kern_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

void kern_stream_row(uint32_t bytes, void *out, const void *in, int64_t in_stride, uint64_t count)
{
    _Alignas(LINE) char piece[PIECE_BYTES];
    if (in_stride == 1) {
        kern_stream(out, in, count * bytes);
        return;
    }
    for (uint64_t at = 0, n; at < count; at += n) {
        n = BASE_MIN(count - at, PIECE_BYTES / bytes);
        if (!at || in_stride)
            kern_copy_row(bytes, piece, 1, (const char *)in + (int64_t)at * in_stride * bytes, in_stride, n);
        kern_stream((char *)out + at * bytes, piece, n * bytes);
    }
}
