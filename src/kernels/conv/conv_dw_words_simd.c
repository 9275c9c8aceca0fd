/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions of bytes in NHWC without VNNI: two taps of sixteen channels are interleaved, widened to 16
 * bits, and multiplied and added exactly. */
#include "kernels/core/isa.h"

#if defined(__AVX2__) && !defined(__AVX512F__)
#include "kernels/conv/conv_dw_lines.h"
#include "kernels/conv/conv_words_finish.h"

enum { TAPS_MAX = CONV_DW_BYTES_WINDOW * CONV_DW_BYTES_WINDOW };

/* Sixteen channels of a pixel under the taps. */
struct dw_block {
    const uint8_t *taps[TAPS_MAX + 1];
    const __m256i *w;
    const int32_t *start;
    const float *scale;
    uint32_t pairs, used;
};

DENSE_INLINE void dw_pixels(const struct dw_block *b, const struct finish *f, uint32_t pairs, int64_t count,
                            int64_t step, uint8_t *y, int64_t y_step)
{
    for (int64_t i = 0, at = 0; i < count; i++, at += step, y += y_step) {
        __m256i sums[2] = { _mm256_loadu_si256((const __m256i *)b->start),
                            _mm256_loadu_si256((const __m256i *)b->start + 1) };
        for (uint32_t t = 0; t < pairs; t++) {
            const __m128i first = _mm_loadu_si128((const __m128i *)(b->taps[2 * t] + at));
            const __m128i second = _mm_loadu_si128((const __m128i *)(b->taps[2 * t + 1] + at));
            const __m256i low = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(first, second));
            const __m256i high = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(first, second));
            sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(low, _mm256_loadu_si256(b->w + 2 * t)));
            sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(high, _mm256_loadu_si256(b->w + 2 * t + 1)));
        }
        finished_store(f, sums, b->scale, b->used, y);
    }
}

static void dw_row(const struct dw_lines *r, const struct finish *f, uint8_t *y)
{
    const struct conv_shape *s = &r->d.c.s;
    const int64_t channels = s->in_channels, step = s->stride[2] * channels;
    const uint32_t taps = (uint32_t)(s->kernel[1] * s->kernel[2]), pairs = (taps + 1) / 2;
    const int32_t *start = r->call->worker_scratch;
    struct dw_block b = { .pairs = pairs };
    for (uint32_t first = 0; first < s->out_channels; first += CONV_BYTES_LANES) {
        for (uint32_t t = 0; t < 2 * pairs; t++) {
            const uint32_t tap = t < taps ? t : 0; /* the one after the last has no weight */
            b.taps[t] = r->row[tap / s->kernel[2]] + tap % s->kernel[2] * channels + first;
        }
        b.w = (const __m256i *)((const char *)r->call->data[1] + (uint64_t)first * pairs * CONV_BYTES_PACK);
        b.start = start + first;
        b.scale = (const float *)start + r->d.c.columns + first;
        b.used = BASE_MIN(s->out_channels - first, CONV_BYTES_LANES);
        if (pairs == 5)
            dw_pixels(&b, f, 5, s->out[2], step, y + first, s->y[4]);
        else
            dw_pixels(&b, f, pairs, s->out[2], step, y + first, s->y[4]);
    }
}

void kern_conv_dw_words_avx2_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct dw_lines r = { .call = call };
    conv_dw_words_init(call->op, &r.d);
    const struct conv_shape *s = &r.d.c.s;
    const int32_t *sums = (const int32_t *)((const char *)call->data[1] + conv_dw_words_bytes(&r.d));
    int32_t *start = call->worker_scratch;
    const float largest = conv_bytes_parameters(call, &r.d.c, sums, false, start, (float *)(start + r.d.c.columns));
    const struct finish f = finish_of(call, &r.d.c, largest);
    memset(dw_line(&r, 0), (uint8_t)conv_x_zero(call) ^ r.d.c.flip, r.d.line * ((uint64_t)s->kernel[1] + 1));
    memset(r.held, -1, sizeof(r.held));
    for (uint64_t unit = begin; unit < end; unit++) {
        const int64_t n = (int64_t)unit / s->out[1], row = (int64_t)unit % s->out[1];
        dw_window(&r, n, row);
        dw_row(&r, &f, (uint8_t *)call->data[call->op->input_count] + n * s->y[0] + row * s->y[3]);
    }
}
#endif
