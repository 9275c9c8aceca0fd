/* The gradients of averages, the other way through roi_fast.h's lists: outputs are spread over a line, the line over
 * the rows of the image. Included once per instruction set, after roi_body.h. */

struct roi_grad_work {
    struct roi_plan plan;
    const struct kern_call *call;
    const struct kern_roi *roi;
    struct roi_grad_tensors t;
    struct roi_list lx, ly;
    float *line, *row, *moved0, *moved1, *in, *planes;
    uint32_t pixels;
};

/* The lists of a region; false when no sample of it is inside an image. */
static bool roi_grad_region(struct roi_grad_work *w, uint32_t r, bool moves, uint32_t *out_image)
{
    struct roi_axis ax, ay;
    if (!roi_axes(w->call, w->roi, w->t.image, w->t.pooled, r, out_image, &ax, &ay))
        return false;
    roi_list_average(&w->lx, &ax, moves);
    roi_list_average(&w->ly, &ay, moves);
    w->pixels = (uint32_t)(w->lx.high - w->lx.low);
    return w->pixels && w->ly.high > w->ly.low;
}

static void roi_grad_load(const struct roi_grad_work *w, uint32_t r, uint32_t c, uint32_t oy)
{
    const struct kern_view *pooled = w->t.pooled;
    const uint32_t at[] = { r, c, oy, 0 };
    dense_load_row(w->call->data[ROI_GRAD_POOLED], dense_offset(pooled, at, 4), pooled->strides[3], pooled->type,
                   pooled->sizes[3], w->in);
}

static void roi_grad_spread(struct roi_grad_work *w, uint32_t r, uint32_t c, float *plane)
{
    uint32_t width = w->t.image->sizes[3];
    for (uint32_t oy = 0; oy < w->t.pooled->sizes[2]; oy++) {
        if (w->ly.begin[oy] == w->ly.begin[oy + 1])
            continue;
        roi_grad_load(w, r, c, oy);
        roi_fill(w->line, 0, w->pixels);
        for (uint32_t ox = 0; ox < w->t.pooled->sizes[3]; ox++)
            for (uint32_t t = w->lx.begin[ox]; t < w->lx.begin[ox + 1]; t++)
                w->line[w->lx.i0[t] - w->lx.low] += w->lx.w[t] * w->in[ox];
        for (uint32_t t = w->ly.begin[oy]; t < w->ly.begin[oy + 1]; t++)
            roi_add_row(plane + (uint64_t)w->ly.i0[t] * width + w->lx.low, w->line, w->ly.w[t], w->pixels);
    }
}

/* A block of planes of the image's gradient. */
static void roi_grad_planes_unit(struct roi_grad_work *w, uint64_t unit)
{
    const struct kern_view *out = &w->call->op->tensors[w->t.out_image];
    uint32_t channels = out->sizes[1], block = w->plan.block, blocks = (channels + block - 1) / block;
    uint32_t n = (uint32_t)(unit / blocks), first = (uint32_t)(unit % blocks) * block;
    uint32_t count = BASE_MIN(block, channels - first), height = out->sizes[2], width = out->sizes[3], image;
    uint64_t plane = (uint64_t)height * width;
    memset(w->planes, 0, count * plane * sizeof(float));
    for (uint32_t r = 0; r < w->t.pooled->sizes[0]; r++) {
        if (!roi_grad_region(w, r, false, &image) || image != n)
            continue;
        for (uint32_t c = 0; c < count; c++)
            roi_grad_spread(w, r, first + c, w->planes + c * plane);
    }
    for (uint32_t row = 0; row < count * height; row++) {
        const uint32_t at[] = { n, first + row / height, row % height, 0 };
        dense_store_row(w->call->data[w->t.out_image], dense_offset(out, at, 4), out->strides[3], out->type, width,
                        w->planes + (uint64_t)row * width);
    }
}

/* One row of outputs of one channel: what moving the corners does to them. */
static void roi_grad_corners(struct roi_grad_work *w, uint32_t n, uint32_t r, uint32_t c, uint32_t oy, double sums[4])
{
    const struct kern_view *x = w->t.image;
    int64_t at = n * x->strides[0] + c * x->strides[1] + w->lx.low * x->strides[3];
    roi_fill(w->line, 0, w->pixels);
    roi_fill(w->moved0, 0, w->pixels);
    roi_fill(w->moved1, 0, w->pixels);
    for (uint32_t t = w->ly.begin[oy]; t < w->ly.begin[oy + 1]; t++) {
        dense_load_row(w->call->data[w->t.in_image], at + w->ly.i0[t] * x->strides[2], x->strides[3], x->type,
                       w->pixels, w->row);
        roi_add_row(w->line, w->row, w->ly.w[t], w->pixels);
        roi_add_row(w->moved0, w->row, w->ly.d0[t], w->pixels);
        roi_add_row(w->moved1, w->row, w->ly.d1[t], w->pixels);
    }
    roi_grad_load(w, r, c, oy);
    for (uint32_t ox = 0; ox < w->t.pooled->sizes[3]; ox++) {
        float s[4] = { 0 };
        for (uint32_t t = w->lx.begin[ox]; t < w->lx.begin[ox + 1]; t++) {
            int32_t i = w->lx.i0[t] - w->lx.low;
            s[0] += w->lx.d0[t] * w->line[i];
            s[1] += w->lx.w[t] * w->moved0[i];
            s[2] += w->lx.d1[t] * w->line[i];
            s[3] += w->lx.w[t] * w->moved1[i];
        }
        for (uint32_t i = 0; i < 4; i++)
            sums[i] += (double)s[i] * (double)w->in[ox];
    }
}

static void roi_grad_region_unit(struct roi_grad_work *w, uint32_t r)
{
    const struct kern_view *out = &w->call->op->tensors[w->t.out_corners];
    double sums[4] = { 0 };
    uint32_t n = 0;
    bool moves = w->roi->linear && roi_grad_region(w, r, true, &n);
    for (uint32_t c = 0; moves && c < w->t.pooled->sizes[1]; c++)
        for (uint32_t oy = 0; oy < w->t.pooled->sizes[2]; oy++)
            roi_grad_corners(w, n, r, c, oy, sums);
    for (uint32_t i = 0; i < 4; i++)
        dense_store(w->call->data[w->t.out_corners], r * out->strides[0] + i * out->strides[1], out->type,
                    sums[i] * (double)(i % 2 ? w->roi->scale_y : w->roi->scale_x));
}

static void roi_grad_run(const struct kern_call *call, uint64_t begin, uint64_t end)
{
    struct roi_grad_work w = { .call = call, .roi = &call->op->u.roi_grad.roi, .t = roi_grad_tensors(call->op) };
    roi_plan_init(call->op, w.roi, w.t.image, w.t.pooled, true, &w.plan);
    void *scratch = call->worker_scratch;
    scratch = roi_list_place(&w.lx, scratch, w.t.pooled->sizes[3], w.plan.capacity_x);
    scratch = roi_list_place(&w.ly, scratch, w.t.pooled->sizes[2], w.plan.capacity_y);
    w.line = scratch;
    w.row = w.line + w.plan.line;
    w.moved0 = w.row + w.plan.line;
    w.moved1 = w.moved0 + w.plan.line;
    w.in = w.moved1 + w.plan.line;
    w.planes = w.in + w.plan.out;
    uint64_t planes = roi_grad_planes(call->op, w.plan.block);
    for (uint64_t unit = begin; unit < end; unit++) {
        if (unit < planes)
            roi_grad_planes_unit(&w, unit);
        else
            roi_grad_region_unit(&w, (uint32_t)(unit - planes));
    }
}
