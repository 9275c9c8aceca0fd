// SPDX-License-Identifier: Apache-2.0
// Regions of images in torchvision, besides roi_align (a row of ops.def): suppression of overlapping boxes, maxima over
// regions, and position-sensitive pooling, as compositions. The registrations wait until torchvision is loaded.
#include "glue.h"

#include <cmath>
#include <limits>

#include <ATen/ops/arange.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;
using Two = std::tuple<Tensor, Tensor>;

Tensor widened(const Tensor &x)
{
    return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

// ---- suppression of overlapping boxes ----

constexpr int64_t kBlock = 1024; // boxes that are compared with all later ones at a time

// Corners x1, y1, x2, y2 and areas of boxes.
using Planes = std::array<Tensor, 5>;

Planes planes_of(const Tensor &boxes)
{
    Planes p;
    for (int64_t i = 0; i < 4; i++)
        p[static_cast<size_t>(i)] = boxes.select(1, i).contiguous();
    p[4] = (p[2] - p[0]) * (p[3] - p[1]);
    return p;
}

// Ones where the shares of the common areas of these boxes, and of them and all later ones, exceed the threshold.
Tensor overlap(const Planes &p, int64_t begin, int64_t count, double threshold)
{
    std::array<Tensor, 5> a, b;
    for (size_t i = 0; i < p.size(); i++) {
        a[i] = p[i].narrow(0, begin, count).unsqueeze(1);
        b[i] = p[i].slice(0, begin).unsqueeze(0);
    }
    Tensor width = (at::minimum(a[2], b[2]) - at::maximum(a[0], b[0])).clamp_min_(0);
    Tensor common = width.mul_((at::minimum(a[3], b[3]) - at::maximum(a[1], b[1])).clamp_min_(0));
    Tensor share = common / (a[4] + b[4] - common);
    // The CPU compares with the threshold in float64; there is no float32 between it and the one below.
    auto nearest = static_cast<float>(threshold);
    if (share.scalar_type() == at::kFloat && nearest > threshold)
        threshold = std::nextafter(nearest, -std::numeric_limits<float>::infinity());
    return share.gt(threshold).to(at::kFloat);
}

// Boxes that none of the ones that are left overlaps: a product counts these.
Tensor untouched(const Tensor &left, const Tensor &overlaps)
{
    return at::mm(left.unsqueeze(0).to(at::kFloat), overlaps).squeeze(0).eq(0);
}

// Which boxes of a block remain, in order of falling scores: those that no remaining earlier box overlaps. Step n
// decides at least the first n boxes.
Tensor remaining(const Tensor &overlaps, const Tensor &candidates)
{
    Tensor earlier = overlaps.triu(1), left = candidates;
    for (int64_t i = 0; i < left.size(0); i++) {
        Tensor next = candidates.logical_and(untouched(left, earlier));
        if (at::equal(next, left))
            break;
        left = next;
    }
    return left;
}

Tensor nms(const Tensor &boxes, const Tensor &scores, double threshold)
{
    TORCH_CHECK(boxes.dim() == 2, "boxes should be a 2d tensor, got ", boxes.dim(), "D");
    TORCH_CHECK(boxes.size(1) == 4, "boxes should have 4 elements in dimension 1, got ", boxes.size(1));
    TORCH_CHECK(scores.dim() == 1, "scores should be a 1d tensor, got ", scores.dim(), "D");
    TORCH_CHECK(boxes.size(0) == scores.size(0),
                "boxes and scores should have same number of elements in dimension 0, got ", boxes.size(0), " and ",
                scores.size(0));
    TORCH_CHECK(boxes.scalar_type() == scores.scalar_type(), "dets should have the same type as scores");
    const int64_t count = boxes.size(0);
    if (!count)
        return at::empty({ 0 }, boxes.options().dtype(at::kLong));
    Tensor order = std::get<1>(scores.sort(true, 0, true));
    const Planes planes = planes_of(widened(boxes).index_select(0, order));
    Tensor kept = at::ones({ count }, boxes.options().dtype(at::kBool));
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t size = std::min(kBlock, count - begin);
        Tensor over = overlap(planes, begin, size, threshold);
        Tensor mine = kept.narrow(0, begin, size), later = kept.slice(0, begin + size);
        mine.copy_(remaining(over.slice(1, 0, size), mine));
        if (later.size(0))
            later.logical_and_(untouched(mine, over.slice(1, size)));
    }
    return order.index_select(0, at::nonzero(kept).select(1, 0));
}

// ---- windows of regions ----

// Rows of regions (image, x1, y1, x2, y2), their images and their scaled corners along an axis (0: y).
Tensor images_of(const Tensor &rois)
{
    return rois.select(1, 0).to(at::kLong);
}

Two corners(const Tensor &rois, int64_t axis, double scale)
{
    return { rois.select(1, 2 - axis) * scale, rois.select(1, 4 - axis) * scale };
}

// Halves away from zero, as C rounds them.
Tensor rounded(const Tensor &x)
{
    return at::where(x.frac().abs().eq(0.5), x.trunc() + x.sign(), x.round());
}

// First and last + 1 of the pixels of each bin along an axis, [regions, bins], clipped to 0 ... `most`. `closed`: the
// regions include their last pixel.
Two bins_of(const Tensor &rois, int64_t axis, double scale, int64_t bins, bool closed, int64_t most)
{
    auto [low, high] = corners(rois, axis, scale);
    Tensor start = rounded(low).unsqueeze(1), end = rounded(high).unsqueeze(1);
    Tensor step = (end - start + (closed ? 1 : 0)).clamp_min(1) / bins, at = at::arange(bins, rois.options());
    return { ((at * step).floor() + start).clamp(0, most), (((at + 1) * step).ceil() + start).clamp(0, most) };
}

void check(const Tensor &input, const Tensor &rois)
{
    TORCH_CHECK(input.dim() == 4, "input should be a 4d tensor, got ", input.dim(), "D");
    TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 5, "Tensor rois should have shape as Tensor[K, 5]");
    TORCH_CHECK(input.scalar_type() == rois.scalar_type(), "input should have the same type as rois");
}

// ---- maxima ----

int64_t largest(const Tensor &x)
{
    return x.numel() ? static_cast<int64_t>(x.max().item<double>()) : 0;
}

// Compares the pixels of all windows at the same place in them, one place after the other.
Two roi_pool(const Tensor &input, const Tensor &regions, double scale, int64_t height, int64_t width)
{
    check(input, regions);
    const int64_t count = regions.size(0), channels = input.size(1), rows = input.size(2), columns = input.size(3);
    Tensor rois = widened(regions), index = images_of(rois).view({ -1, 1, 1 });
    auto [top, bottom] = bins_of(rois, 0, scale, height, true, rows);
    auto [left, right] = bins_of(rois, 1, scale, width, true, columns);
    top = top.to(at::kLong).unsqueeze(2), bottom = bottom.to(at::kLong).unsqueeze(2);
    left = left.to(at::kLong).unsqueeze(1), right = right.to(at::kLong).unsqueeze(1);
    Tensor pixels = input.permute({ 0, 2, 3, 1 }).reshape({ -1, channels });
    Tensor empty = bottom.le(top).logical_or(right.le(left)).view({ -1, 1 });
    Tensor most = at::full({ empty.size(0), channels }, -std::numeric_limits<float>::max(), input.options());
    most = most.masked_fill(empty, 0);
    Tensor where = at::full(most.sizes(), -1, input.options().dtype(at::kLong));
    const int64_t tall = largest(bottom - top), wide = largest(right - left);
    for (int64_t i = 0; i < tall * wide && most.numel() && input.numel(); i++) {
        Tensor y = top + i / wide, x = left + i % wide;
        Tensor inside = y.lt(bottom).logical_and(x.lt(right)).view({ -1, 1 });
        Tensor place = (y * columns + x).view({ -1, 1 }).masked_fill(inside.logical_not(), 0);
        Tensor at = (index * (rows * columns)).expand({ count, height, width }).reshape({ -1, 1 }) + place;
        Tensor value = pixels.index_select(0, at.view(-1));
        Tensor better = value.gt(most).logical_and(inside);
        most = at::where(better, value, most);
        where = at::where(better, place, where);
    }
    auto arranged = [&](const Tensor &t) {
        return t.view({ count, height, width, channels }).permute({ 0, 3, 1, 2 }).contiguous();
    };
    return { arranged(most), arranged(where).to(at::kInt) };
}

Tensor roi_pool_backward(const Tensor &grad, const Tensor &rois, const Tensor &argmax, double, int64_t, int64_t,
                         int64_t batch, int64_t channels, int64_t rows, int64_t columns)
{
    const int64_t pixels = rows * columns;
    Tensor index = images_of(rois).view({ -1, 1, 1, 1 }) * channels;
    index = (index + at::arange(channels, index.options()).view({ 1, -1, 1, 1 })) * pixels;
    Tensor found = argmax.ge(0), each = at::where(found, widened(grad), 0);
    Tensor at = (index + argmax.to(at::kLong)).masked_fill(found.logical_not(), 0);
    Tensor dx = at::zeros({ batch * channels * pixels }, each.options());
    dx.scatter_add_(0, at.reshape({ -1 }), each.reshape({ -1 }));
    return dx.view({ batch, channels, rows, columns }).to(grad.scalar_type());
}

// ---- position-sensitive pooling: each bin of the result has its own channels of the input ----

// The share of each row (or column) of pixels in each bin, [regions, bins, size]. The result is a product of those of
// rows and columns; it is linear in the input.
struct Shares {
    Tensor rows, columns;
};

Tensor averages(const Tensor &rois, int64_t axis, double scale, int64_t bins, int64_t most, int64_t size)
{
    auto [low, high] = bins_of(rois, axis, scale, bins, false, most);
    Tensor at = at::arange(size, rois.options());
    Tensor inside = at.ge(low.unsqueeze(2)).logical_and(at.lt(high.unsqueeze(2)));
    return inside.to(rois.scalar_type()) / (high - low).clamp_min(1).unsqueeze(2);
}

// Of points between pixels, `ratio` for each bin; if it is not positive, one for each pixel. Bins without points
// have no share: a mean over no points is NaN, but has no gradient.
Tensor interpolations(const Tensor &rois, int64_t axis, double scale, int64_t bins, int64_t ratio, int64_t size,
                      bool gradient)
{
    auto [low, high] = corners(rois, axis, scale);
    Tensor start = (low - 0.5).view({ -1, 1, 1 }), step = ((high - 0.5).view({ -1, 1, 1 }) - start) / bins;
    Tensor points = ratio > 0 ? at::full_like(step, ratio) : step.ceil();
    Tensor i = at::arange(ratio > 0 ? ratio : std::max<int64_t>(largest(points), 0), rois.options());
    Tensor place = at::arange(bins, rois.options()).view({ 1, -1, 1 }) * step + start + (i + 0.5) * step / points;
    Tensor inside = i.lt(points).logical_and(place.ge(-1)).logical_and(place.le(size));
    Tensor distance = place.clamp(0, size - 1).unsqueeze(3) - at::arange(size, rois.options());
    Tensor sum = at::where(inside.unsqueeze(3), (1 - distance.abs()).clamp_min(0), 0).sum(2);
    return gradient ? at::where(points.gt(0), sum / points, 0) : sum / points;
}

int64_t channels_out(int64_t channels, int64_t height, int64_t width)
{
    TORCH_CHECK(height > 0 && width > 0 && channels % (height * width) == 0,
                "input channels must be a multiple of pooling height * pooling width");
    return channels / (height * width);
}

Two pooled(const Tensor &input, const Tensor &images, const Shares &shares)
{
    const int64_t height = shares.rows.size(1), width = shares.columns.size(1);
    const int64_t out = channels_out(input.size(1), height, width), count = images.size(0);
    Tensor y = at::zeros({ count, out, height, width }, shares.rows.options()), x = widened(input);
    for (int64_t n = 0; n < input.size(0) && count; n++) {
        Tensor own = at::nonzero(images.eq(n)).select(1, 0);
        if (!own.numel())
            continue;
        Tensor pixels = x[n].view({ out, height, width, input.size(2), input.size(3) });
        Tensor half = at::einsum("cpqhw,kqw->cpqhk", { pixels, shares.columns.index_select(0, own) });
        y.index_copy_(0, own, at::einsum("cpqhk,kph->kcpq", { half, shares.rows.index_select(0, own) }));
    }
    Tensor from = at::arange(input.size(1), input.options().dtype(at::kInt)).view({ 1, out, height, width });
    return { y.to(input.scalar_type()), from.expand(y.sizes()).contiguous() };
}

Tensor pooled_backward(const Tensor &grad, const Tensor &images, const Shares &shares, int64_t batch)
{
    Tensor dy = widened(grad);
    const int64_t rows = shares.rows.size(2), columns = shares.columns.size(2);
    std::vector<Tensor> all;
    for (int64_t n = 0; n < batch; n++) {
        Tensor own = at::nonzero(images.eq(n)).select(1, 0);
        Tensor half = at::einsum("kcpq,kph->cpqhk", { dy.index_select(0, own), shares.rows.index_select(0, own) });
        Tensor dx = at::einsum("cpqhk,kqw->cpqhw", { half, shares.columns.index_select(0, own) });
        all.push_back(dx.reshape({ -1, rows, columns }));
    }
    return at::stack(all).to(grad.scalar_type());
}

Two ps_roi_pool(const Tensor &input, const Tensor &regions, double scale, int64_t height, int64_t width)
{
    check(input, regions);
    // torchvision leaves the last row and column out here, but not in the gradient.
    Tensor rois = widened(regions);
    const int64_t rows = input.size(2), columns = input.size(3);
    return pooled(
        input, images_of(rois),
        { averages(rois, 0, scale, height, rows - 1, rows), averages(rois, 1, scale, width, columns - 1, columns) });
}

Tensor ps_roi_pool_backward(const Tensor &grad, const Tensor &regions, const Tensor &, double scale, int64_t height,
                            int64_t width, int64_t batch, int64_t channels, int64_t rows, int64_t columns)
{
    if (!grad.numel())
        return at::zeros({ batch, channels, rows, columns }, grad.options());
    Tensor rois = widened(regions);
    return pooled_backward(
        grad, images_of(rois),
        { averages(rois, 0, scale, height, rows, rows), averages(rois, 1, scale, width, columns, columns) }, batch);
}

Two ps_roi_align(const Tensor &input, const Tensor &regions, double scale, int64_t height, int64_t width, int64_t ratio)
{
    check(input, regions);
    Tensor rois = widened(regions);
    return pooled(input, images_of(rois),
                  { interpolations(rois, 0, scale, height, ratio, input.size(2), false),
                    interpolations(rois, 1, scale, width, ratio, input.size(3), false) });
}

Tensor ps_roi_align_backward(const Tensor &grad, const Tensor &regions, const Tensor &, double scale, int64_t height,
                             int64_t width, int64_t ratio, int64_t batch, int64_t channels, int64_t rows,
                             int64_t columns)
{
    if (!grad.numel())
        return at::zeros({ batch, channels, rows, columns }, grad.options());
    Tensor rois = widened(regions);
    return pooled_backward(grad, images_of(rois),
                           { interpolations(rois, 0, scale, height, ratio, rows, true),
                             interpolations(rois, 1, scale, width, ratio, columns, true) },
                           batch);
}

// Devices that compute in host memory run torchvision's own kernels there, which visit only the pixels of each region,
// in the types that all of them have.
class Regional final : public c10::OperatorKernel
{
  public:
    explicit Regional(c10::KernelFunction composition) : own(std::move(composition))
    {
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
    {
        size_t begin = stack->size() - op.schema().arguments().size();
        c10::DeviceIndex index = common_device(op, *stack, begin);
        at::ScalarType type = (*stack)[begin].toTensor().scalar_type();
        if (host_memory(index < 0 ? current_device() : index) && (type == at::kFloat || type == at::kDouble))
            run_in_host_memory(op, stack);
        else
            own.callBoxed(op, keys, stack);
    }

  private:
    c10::KernelFunction own;
};

template <typename Function> torch::CppFunction regional(Function function)
{
    auto kernel = c10::KernelFunction::makeFromUnboxedRuntimeFunction(function);
    return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Regional>(std::move(kernel)));
}

TORCH_LIBRARY_IMPL(torchvision, PrivateUse1, m)
{
    m.impl("nms", regional(&nms));
    m.impl("roi_pool", regional(&roi_pool));
    m.impl("_roi_pool_backward", regional(&roi_pool_backward));
    m.impl("ps_roi_pool", regional(&ps_roi_pool));
    m.impl("_ps_roi_pool_backward", regional(&ps_roi_pool_backward));
    m.impl("ps_roi_align", regional(&ps_roi_align));
    m.impl("_ps_roi_align_backward", regional(&ps_roi_align_backward));
}

} // namespace
} // namespace dml
