/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that vary between runs, such as the lengths of texts. The first size of a dimension name has its own graph, and
 * so do small ones; for other sizes, graphs are compiled for a maximum: the next of four steps to each power of two, so
 * that at most a quarter of the work is wasted. */
#include "ep.h"

#define EXACT_MAX 4

static int64_t rounded_up(int64_t size)
{
    int64_t step = 1;
    while (step * 8 < size)
        step *= 2;
    return (size + step - 1) / step * step;
}

void ep_lengths_init(struct ep_lengths *l, const struct onnx_model *model)
{
    l->model = model;
    pthread_mutex_init(&l->lock, NULL);
    for (uint32_t i = 0; i < model->input_count; i++) {
        const struct onnx_value_info *info = &model->inputs[i];
        for (uint32_t d = 0; info->has_shape && d < info->rank; d++) {
            const char *name = info->dims[d] < 0 ? info->symbols[d] : NULL;
            uint32_t k = 0;
            while (k < l->count && name && strcmp(l->names[k], name))
                k++;
            if (name && name[0] && k == l->count && l->count < ONNX_LENGTHS_MAX)
                l->names[l->count++] = name;
        }
    }
}

void ep_lengths_finish(struct ep_lengths *l)
{
    if (l->model)
        pthread_mutex_destroy(&l->lock);
}

static bool is_named(const struct ep_lengths *l, uint32_t input, uint32_t dim, uint32_t number)
{
    const struct onnx_value_info *info = &l->model->inputs[input];
    return info->has_shape && dim < info->rank && info->dims[dim] < 0 && info->symbols[dim] &&
           !strcmp(info->symbols[dim], l->names[number]);
}

/* -1: none, or its dimensions differ. */
static int64_t size_of(const struct ep_lengths *l, const struct onnx_input *inputs, uint32_t number)
{
    int64_t size = -1;
    for (uint32_t i = 0; i < l->model->input_count; i++) {
        for (uint32_t d = 0; d < inputs[i].rank; d++) {
            if (!is_named(l, i, d, number))
                continue;
            if (size >= 0 && size != inputs[i].dims[d])
                return -1;
            size = inputs[i].dims[d];
        }
    }
    return size;
}

static void set(const struct ep_lengths *l, struct onnx_input *inputs, uint32_t number, int64_t size, bool most)
{
    for (uint32_t i = 0; i < l->model->input_count; i++) {
        for (uint32_t d = 0; d < inputs[i].rank; d++) {
            if (!is_named(l, i, d, number))
                continue;
            inputs[i].dims[d] = size;
            inputs[i].length[d] = most ? (uint8_t)(number + 1) : 0;
        }
    }
}

void ep_lengths_exact(struct ep_lengths *l, struct onnx_input *inputs, uint32_t *lengths)
{
    for (uint32_t k = 0; k < l->count; k++) {
        if (lengths[k])
            set(l, inputs, k, lengths[k], false);
        lengths[k] = 0;
    }
}

bool ep_lengths_round_up(struct ep_lengths *l, struct onnx_input *inputs, uint32_t *lengths)
{
    bool any = false;
    for (uint32_t k = 0; k < l->count; k++) {
        int64_t size = lengths[k] ? 0 : size_of(l, inputs, k);
        if (size <= EXACT_MAX || size > INT32_MAX / 2) {
            any = any || lengths[k];
            continue;
        }
        pthread_mutex_lock(&l->lock);
        l->first[k] = l->first[k] ? l->first[k] : size;
        bool exact = l->first[k] == size || l->refused[k];
        pthread_mutex_unlock(&l->lock);
        if (exact)
            continue;
        lengths[k] = (uint32_t)size;
        set(l, inputs, k, rounded_up(size), true);
        any = true;
    }
    return any;
}

void ep_lengths_give_up(struct ep_lengths *l, uint32_t mask)
{
    if (!mask)
        return;
    pthread_mutex_lock(&l->lock);
    for (uint32_t k = 0; k < l->count; k++)
        l->refused[k] = l->refused[k] || mask >> k & 1;
    pthread_mutex_unlock(&l->lock);
}

bool ep_lengths_refused(struct ep_lengths *l, const uint32_t *lengths)
{
    bool any = false;
    pthread_mutex_lock(&l->lock);
    for (uint32_t k = 0; k < l->count; k++)
        any = any || (l->refused[k] && lengths[k]);
    pthread_mutex_unlock(&l->lock);
    return any;
}

int64_t ep_lengths_size(const uint32_t *lengths, const struct onnx_input *in, uint32_t dim)
{
    return in->length[dim] ? lengths[in->length[dim] - 1] : in->dims[dim];
}

int64_t ep_lengths_most(const struct ep_lengths *l, const struct onnx_input *inputs, uint32_t count,
                        const uint32_t *lengths, int64_t size)
{
    for (uint32_t i = 0; l->count && i < count; i++) {
        for (uint32_t d = 0; d < inputs[i].rank; d++)
            if (inputs[i].length[d] && lengths[inputs[i].length[d] - 1] == size)
                return inputs[i].dims[d];
    }
    return size;
}
