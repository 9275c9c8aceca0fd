// SPDX-License-Identifier: Apache-2.0
// torchvision's deformable convolution, as a composition: columns of pixels at shifted places, and matrix
// multiplications. The registrations wait until torchvision is loaded.
#include "glue.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

struct Layout {
    int64_t batch, channels, rows, columns; // of the input
    int64_t filters, groups, offset_groups;
    int64_t tall, wide, taps; // of the filter
    int64_t height, width;    // of the result
    int64_t stride[2], pad[2], dilation[2];
};

void check(const Layout &s, const Tensor &weight, const Tensor &offset, const Tensor &mask, bool use_mask)
{
    TORCH_CHECK(weight.size(1) * s.groups == s.channels && s.filters % s.groups == 0, "deform_conv2d: weight of ",
                weight.sizes(), " in ", s.groups, " groups does not fit ", s.channels, " channels of the input");
    TORCH_CHECK(s.channels % s.offset_groups == 0 && offset.size(1) == s.offset_groups * s.taps * 2,
                "deform_conv2d: offset.shape[1] is not valid: got: ", offset.size(1),
                " expected: ", s.offset_groups * s.taps * 2);
    TORCH_CHECK(!use_mask || (mask.dim() == 4 && mask.size(1) == s.offset_groups * s.taps),
                "deform_conv2d: mask.shape[1] is not valid: expected: ", s.offset_groups * s.taps);
    TORCH_CHECK(s.height > 0 && s.width > 0 && offset.size(0) == s.batch && offset.size(2) == s.height &&
                    offset.size(3) == s.width,
                "deform_conv2d: offset of ", offset.sizes(), " does not fit a result of ", s.height, " x ", s.width);
    TORCH_CHECK(!use_mask || (mask.size(0) == s.batch && mask.size(2) == s.height && mask.size(3) == s.width),
                "deform_conv2d: mask of ", mask.sizes(), " does not fit a result of ", s.height, " x ", s.width);
}

Layout layout_of(const Tensor &input, const Tensor &weight, const Tensor &offset, const Tensor &mask, int64_t stride_h,
                 int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w, int64_t groups,
                 int64_t offset_groups, bool use_mask)
{
    TORCH_CHECK(input.dim() == 4 && weight.dim() == 4 && offset.dim() == 4,
                "deform_conv2d: input, weight and offset must have 4 dimensions");
    TORCH_CHECK(stride_h > 0 && stride_w > 0 && pad_h >= 0 && pad_w >= 0 && dilation_h > 0 && dilation_w > 0 &&
                    groups > 0 && offset_groups > 0,
                "deform_conv2d: stride, dilation and groups must be positive, padding must not be negative");
    Layout s = {};
    s.batch = input.size(0), s.channels = input.size(1), s.rows = input.size(2), s.columns = input.size(3);
    s.filters = weight.size(0), s.groups = groups, s.offset_groups = offset_groups;
    s.tall = weight.size(2), s.wide = weight.size(3), s.taps = s.tall * s.wide;
    s.stride[0] = stride_h, s.stride[1] = stride_w;
    s.pad[0] = pad_h, s.pad[1] = pad_w;
    s.dilation[0] = dilation_h, s.dilation[1] = dilation_w;
    s.height = (s.rows + 2 * pad_h - dilation_h * (s.tall - 1) - 1) / stride_h + 1;
    s.width = (s.columns + 2 * pad_w - dilation_w * (s.wide - 1) - 1) / stride_w + 1;
    check(s, weight, offset, mask, use_mask);
    return s;
}

// ---- pixels at places between pixels; those outside of the image are 0 ----

// One of the four neighbours of all places: [images * places, 1].
struct Tap {
    Tensor at, inside; // index into the pixels of all images
    Tensor along_y, along_x, weight;
    double sign_y, sign_x; // the derivatives of along_y and along_x
};

// y and x: [images, places]
std::array<Tap, 4> taps_of(const Layout &s, const Tensor &y, const Tensor &x)
{
    std::array<Tap, 4> taps;
    Tensor top = y.floor(), left = x.floor(), below = y - top, right = x - left;
    Tensor image = at::arange(y.size(0), y.options().dtype(at::kLong)).unsqueeze(1) * (s.rows * s.columns);
    for (size_t i = 0; i < taps.size(); i++) {
        Tap &tap = taps[i];
        const int down = static_cast<int>(i / 2), aside = static_cast<int>(i % 2);
        Tensor row = top + down, column = left + aside;
        auto flat = [](const Tensor &t) { return t.reshape({ -1, 1 }); };
        Tensor inside =
            row.ge(0).logical_and(row.lt(s.rows)).logical_and(column.ge(0)).logical_and(column.lt(s.columns));
        Tensor place = at::where(inside, row * s.columns + column, 0).to(at::kLong);
        tap.at = flat(place + image).squeeze(1);
        tap.inside = flat(inside).to(y.scalar_type());
        tap.along_y = flat(down ? below : 1 - below);
        tap.along_x = flat(aside ? right : 1 - right);
        tap.weight = tap.along_y * tap.along_x * tap.inside;
        tap.sign_y = down ? 1 : -1;
        tap.sign_x = aside ? 1 : -1;
    }
    return taps;
}

// [images, channels, ...] as [images * pixels, channels], and back.
Tensor rows_of(const Tensor &x)
{
    return x.flatten(2).transpose(1, 2).reshape({ -1, x.size(1) });
}

Tensor rows_back(const Tensor &rows, int64_t images)
{
    return rows.view({ images, -1, rows.size(1) }).transpose(1, 2).contiguous();
}

// ---- columns ----

struct Columns {
    Tensor pixels;           // of the input, [images * pixels, channels of an offset group]
    std::array<Tap, 4> taps; // an image for each offset group
    Tensor sampled;          // [batch, offset groups, channels, taps, places]
    Tensor mask;             // [batch, offset groups, 1, taps, places]; undefined: none
};

// The place of each tap of a filter without an offset: [taps, places along this axis].
Tensor places(int64_t count, int64_t size, int64_t stride, int64_t pad, int64_t dilation, const Tensor &like)
{
    Tensor out = at::arange(count, like.options()) * stride - pad;
    return at::arange(size, like.options()).unsqueeze(1) * dilation + out;
}

Columns columns_of(const Layout &s, const Tensor &input, const Tensor &offset, const Tensor &mask, bool use_mask)
{
    Columns c;
    const int64_t images = s.batch * s.offset_groups;
    Tensor shift = offset.reshape({ images, s.tall, s.wide, 2, s.height, s.width });
    Tensor down = places(s.height, s.tall, s.stride[0], s.pad[0], s.dilation[0], offset);
    Tensor aside = places(s.width, s.wide, s.stride[1], s.pad[1], s.dilation[1], offset);
    Tensor y = shift.select(3, 0) + down.view({ s.tall, 1, s.height, 1 });
    Tensor x = shift.select(3, 1) + aside.view({ 1, s.wide, 1, s.width });
    c.taps = taps_of(s, y.reshape({ images, -1 }), x.reshape({ images, -1 }));
    c.pixels = rows_of(input.reshape({ images, s.channels / s.offset_groups, s.rows, s.columns }));
    Tensor sum;
    for (const Tap &tap : c.taps) {
        Tensor part = c.pixels.index_select(0, tap.at) * tap.weight;
        sum = sum.defined() ? sum + part : part;
    }
    c.sampled = rows_back(sum, images).view({ s.batch, s.offset_groups, -1, s.taps, s.height * s.width });
    if (use_mask)
        c.mask = mask.reshape({ s.batch, s.offset_groups, 1, s.taps, s.height * s.width });
    return c;
}

Tensor in_groups(const Layout &s, const Columns &c)
{
    Tensor all = c.mask.defined() ? c.sampled * c.mask : c.sampled;
    return all.reshape({ s.batch, s.groups, -1, s.height * s.width });
}

at::ScalarType wide(const Tensor &x)
{
    return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Tensor forward(const Tensor &input, const Tensor &weight, const Tensor &offset, const Tensor &mask, const Tensor &bias,
               int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h, int64_t dilation_w,
               int64_t groups, int64_t offset_groups, bool use_mask)
{
    const Layout s = layout_of(input, weight, offset, mask, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
                               groups, offset_groups, use_mask);
    if (!s.batch)
        return at::zeros({ 0, s.filters, s.height, s.width }, input.options());
    const at::ScalarType type = wide(input);
    Columns c = columns_of(s, input.to(type), offset.to(type), mask.to(type), use_mask);
    Tensor y = at::matmul(weight.to(type).reshape({ groups, s.filters / groups, -1 }), in_groups(s, c));
    y = y.reshape({ s.batch, s.filters, s.height, s.width }) + bias.to(type).view({ 1, -1, 1, 1 });
    return y.to(input.scalar_type());
}

// ---- gradients ----

struct Gradients {
    Tensor pixels, y, x;
};

// From the gradients of the sampled pixels, [images * places, channels].
Gradients gradients_of(const Columns &c, const Tensor &dy)
{
    Gradients g = { at::zeros_like(c.pixels), Tensor(), Tensor() };
    for (const Tap &tap : c.taps) {
        g.pixels.index_add_(0, tap.at, dy * tap.weight);
        Tensor dot = (c.pixels.index_select(0, tap.at) * dy).sum(1, true) * tap.inside;
        Tensor y = dot * tap.along_x * tap.sign_y, x = dot * tap.along_y * tap.sign_x;
        g.y = g.y.defined() ? g.y + y : y;
        g.x = g.x.defined() ? g.x + x : x;
    }
    return g;
}

using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

Five backward(const Tensor &grad, const Tensor &input, const Tensor &weight, const Tensor &offset, const Tensor &mask,
              const Tensor &bias, int64_t stride_h, int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
              int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask)
{
    const Layout s = layout_of(input, weight, offset, mask, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
                               groups, offset_groups, use_mask);
    if (!s.batch)
        return { at::zeros_like(input), at::zeros_like(weight), at::zeros_like(offset), at::zeros_like(mask),
                 at::zeros_like(bias) };
    const at::ScalarType type = wide(input);
    Columns c = columns_of(s, input.to(type), offset.to(type), mask.to(type), use_mask);
    Tensor dy = grad.to(type).reshape({ s.batch, groups, -1, s.height * s.width });
    Tensor filters = weight.to(type).reshape({ groups, s.filters / groups, -1 });
    Tensor dcolumns = at::matmul(filters.transpose(1, 2), dy).reshape(c.sampled.sizes());
    Tensor dweight = at::matmul(dy, in_groups(s, c).transpose(2, 3)).sum(0);
    Tensor dmask = use_mask ? (dcolumns * c.sampled).sum(2).reshape(mask.sizes()) : at::zeros_like(mask);
    const int64_t images = s.batch * s.offset_groups, channels = s.channels / s.offset_groups;
    Tensor dsampled = c.mask.defined() ? dcolumns * c.mask : dcolumns;
    Gradients g = gradients_of(c, rows_of(dsampled.reshape({ images, channels, -1 })));
    auto shift = [&](const Tensor &t) { return t.view({ images, s.taps, s.height, s.width }); };
    Tensor dinput = rows_back(g.pixels, images).view(input.sizes());
    Tensor doffset = at::stack({ shift(g.y), shift(g.x) }, 2).view(offset.sizes());
    return { dinput.to(input.scalar_type()), dweight.reshape(weight.sizes()).to(weight.scalar_type()),
             doffset.to(offset.scalar_type()), dmask.to(mask.scalar_type()),
             grad.to(type).sum({ 0, 2, 3 }).to(bias.scalar_type()) };
}

TORCH_LIBRARY_IMPL(torchvision, PrivateUse1, m)
{
    m.impl("deform_conv2d", forward);
    m.impl("_deform_conv2d_backward", backward);
}

} // namespace
} // namespace dml
