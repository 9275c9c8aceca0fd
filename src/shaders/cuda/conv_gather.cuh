// SPDX-License-Identifier: Apache-2.0
/* Any strides and numbers of channels: elements one by one. A table has for each depth where its element lies; the
 * filters lie in shared memory whole. */
#define DEPTH_MAX 256
#define W_LINE    (DEPTH_MAX + 8)
#define FILL      5u

DI void gather_sums(const conv_meta_params &p, float (&sums)[MT][NT][4], u32 first, u32 n0, int warp_k, int lane)
{
    unsigned short *filters = (unsigned short *)shared_memory; /* [BN][W_LINE] */
    int2 *table = (int2 *)(filters + BN * W_LINE);
    const u32 depth = (p.k + 31) / 32 * 32;
    window r[MT * 2];
#pragma unroll
    for (int i = 0; i < MT * 2; i++) {
        r[i] = window_of(p, first + lane / 4 + 8 * i);
        r[i].at += (int)blockIdx.y * p.x_group;
    }
    for (u32 k = threadIdx.x; k < depth; k += THREADS) {
        const tap t = tap_of(p, k);
        table[k] = make_int2(t.offset, k < p.k ? t.dy << 16 | t.dx : 0x7fff7fff);
    }
    constexpr u32 of_warp = BN / (THREADS / 32);
    const u32 channel = threadIdx.x / 32 * of_warp;
    const unsigned short *w = (const unsigned short *)p.w + (int)(n0 + channel) * p.w_out;
    for (u32 first = lane; first < depth; first += 32 * FILL) { /* all on their way at once */
        unsigned short v[FILL][of_warp];
#pragma unroll
        for (u32 i = 0; i < FILL; i++) {
            const u32 k = first + i * 32, number = divide(k, p.by_channels), line = divide(number, p.by_line);
            const int c = (int)(k - number * p.by_channels.size), column = (int)(number - line * p.by_line.size);
            const int at = c * p.w_channel + (int)line * p.w_row + column * p.w_column;
#pragma unroll
            for (u32 j = 0; j < of_warp; j++)
                v[i][j] = n0 + channel + j < channel_end(p) && k < p.k ? __ldg(w + at + (int)j * p.w_out) : 0;
        }
#pragma unroll
        for (u32 i = 0; i < FILL; i++)
#pragma unroll
            for (u32 j = 0; j < of_warp; j++)
                if (first + i * 32 < depth)
                    filters[(channel + j) * W_LINE + first + i * 32] = v[i][j];
    }
    __syncthreads();
#pragma unroll 2
    for (u32 step = warp_k; step < depth / 32; step += WK) {
        fragments f;
        unsigned short v[MT * 2][8];
        const u32 k = step * 32 + lane % 4 * 8;
#pragma unroll
        for (int e = 0; e < 8; e++) {
            const int2 t = table[k + e];
            const tap to = { t.x, t.y >> 16, t.y & 0xffff };
#pragma unroll
            for (int i = 0; i < MT * 2; i++) {
                v[i][e] = is_inside(p, r[i], to) ? __ldg((const unsigned short *)p.x + (r[i].at + to.offset)) : 0;
            }
        }
#pragma unroll
        for (int i = 0; i < MT * 2; i++)
            f.a[i] = make_uint4(v[i][0] | v[i][1] << 16, v[i][2] | v[i][3] << 16, v[i][4] | v[i][5] << 16, v[i][6] | v[i][7] << 16);
#pragma unroll
        for (int j = 0; j < NT; j++)
            f.b[j] = *(const uint4 *)(filters + (j * 8 + lane / 4) * W_LINE + k);
        multiply_all(sums, f);
    }
    __syncthreads();
}
