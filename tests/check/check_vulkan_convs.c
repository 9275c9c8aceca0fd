/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with channels innermost, of which all is loaded and stored by whole vectors, as random cases seldom are:
 * with parts of the sums in one workgroup and in several, subgroups side by side, and pixels of several images in one
 * tile. */
#include "check_vulkan_map.h"

#include "check_window.h"

static const struct {
    uint32_t batch, in, size, out, groups, kernel, step, pad;
    bool bare; /* without a bias */
} convs[] = { { 2, 64, 37, 136, 1, 3, 1, 1, false }, { 3, 40, 19, 72, 1, 3, 1, 0, false },
              { 1, 3, 29, 66, 1, 7, 2, 3, false },   { 2, 136, 9, 30, 1, 2, 3, 1, false },
              { 5, 8, 6, 20, 1, 5, 1, 2, true },     { 1, 64, 9, 40, 1, 3, 1, 1, false },
              { 3, 32, 5, 64, 1, 3, 2, 1, false },   { 1, 512, 4, 32, 1, 1, 1, 0, true },
              { 1, 256, 3, 72, 1, 3, 1, 1, false },  { 1, 8, 70, 136, 1, 1, 1, 0, false },
              { 2, 32, 12, 32, 2, 3, 1, 1, true },   { 2, 24, 11, 24, 24, 3, 1, 1, false },
              { 1, 16, 13, 16, 16, 5, 2, 2, false }, { 3, 72, 14, 72, 72, 3, 2, 1, false },
              { 1, 40, 9, 40, 40, 5, 1, 2, true },   { 2, 136, 7, 136, 136, 3, 1, 0, false },
              { 1, 32, 37, 32, 1, 3, 1, 1, false },  { 1, 64, 35, 72, 1, 3, 1, 1, false },
              { 2, 3, 75, 64, 1, 7, 2, 3, false },   { 3, 3, 40, 72, 1, 3, 1, 1, true },
              { 1, 5, 21, 24, 1, 5, 1, 2, false } };

bool check_vulkan_convs(uint32_t i, DML_TENSOR_DATA_TYPE type, struct check_case *out)
{
    if (i >= ARRAY_SIZE(convs))
        return false;
    const uint32_t size = (convs[i].size + 2 * convs[i].pad - convs[i].kernel) / convs[i].step + 1,
                   groups = convs[i].groups;
    *out = (struct check_case){ .op = { .kind = KERN_CONV, .input_count = 2, .output_count = 1 }, .norm_wise = true };
    struct kern_conv *conv = &out->op.u.conv;
    struct kern_view *t = out->op.tensors;
    conv->spatial = 2;
    conv->groups = groups;
    conv->has_bias = !convs[i].bare;
    for (uint32_t d = 0; d < 2; d++) {
        conv->strides[d] = convs[i].step;
        conv->dilations[d] = 1;
        conv->pad_start[d] = convs[i].pad;
    }
    kern_view_set_packed(&t[0], type, 4, (uint32_t[]){ convs[i].batch, convs[i].in, convs[i].size, convs[i].size });
    kern_view_set_packed(&t[1], type, 4,
                         (uint32_t[]){ convs[i].out, convs[i].in / groups, convs[i].kernel, convs[i].kernel });
    if (conv->has_bias)
        kern_view_set_packed(&t[out->op.input_count++], type, 4, (uint32_t[]){ 1, convs[i].out, 1, 1 });
    kern_view_set_packed(&t[out->op.input_count], type, 4, (uint32_t[]){ convs[i].batch, convs[i].out, size, size });
    check_channels_last(&t[0]);
    check_filter_last(&t[1]);
    check_channels_last(&t[out->op.input_count]);
    return true;
}
