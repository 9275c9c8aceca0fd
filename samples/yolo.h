/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes around objects, from the outputs of a YOLO network, without duplicates for the same object. Needs darknet.h. */
#ifndef YOLO_H
#define YOLO_H

#include <math.h>

enum { YOLO_BOXES_MAX = 4096 };

struct yolo_box {
    float left, top, right, bottom; /* from 0 to 1, of the network's input */
    float score;
    UINT class;
};

struct yolo_boxes {
    size_t count;
    struct yolo_box at[YOLO_BOXES_MAX];
};

static float yolo_sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* Boxes of one cell of one anchor; `x` is its first number, the next ones are `plane` apart: the centre within the
 * cell, the logarithms of width and height in anchors, the probability of an object, and that of each class. */
static void yolo_read_cell(const struct darknet *d, const struct darknet_head *head, const float *x, size_t plane,
                           UINT cell, const float *anchor, float threshold, struct yolo_boxes *out)
{
    const float present = yolo_sigmoid(x[4 * plane]);
    if (!(present > threshold))
        return;
    const float shift = (head->scale - 1) / 2;
    const float centre_x =
        ((float)(cell % head->columns) + yolo_sigmoid(x[0]) * head->scale - shift) / (float)head->columns;
    const float centre_y =
        ((float)(cell / head->columns) + yolo_sigmoid(x[plane]) * head->scale - shift) / (float)head->rows;
    const float width = expf(x[2 * plane]) * anchor[0] / (float)d->width;
    const float height = expf(x[3 * plane]) * anchor[1] / (float)d->height;
    for (UINT class = 0; class < head->classes; class ++) {
        const float score = present * yolo_sigmoid(x[(5 + class) * plane]);
        if (score > threshold && out->count < YOLO_BOXES_MAX)
            out->at[out->count++] = (struct yolo_box){ centre_x - width / 2,
                                                       centre_y - height / 2,
                                                       centre_x + width / 2,
                                                       centre_y + height / 2,
                                                       score,
                                                       class };
    }
}

/* Appends the boxes of an output. */
static void yolo_read(const struct darknet *d, const struct darknet_head *head, const float *output, float threshold,
                      struct yolo_boxes *out)
{
    const size_t plane = (size_t)head->columns * head->rows;
    for (UINT i = 0; i < head->anchors; i++, output += (5 + head->classes) * plane)
        for (UINT cell = 0; cell < plane; cell++)
            yolo_read_cell(d, head, output + cell, plane, cell, head->anchor[i], threshold, out);
}

/* The intersection of two boxes as a fraction of their union. */
static float yolo_overlap(const struct yolo_box *a, const struct yolo_box *b)
{
    const float width = fminf(a->right, b->right) - fmaxf(a->left, b->left);
    const float height = fminf(a->bottom, b->bottom) - fmaxf(a->top, b->top);
    if (width <= 0 || height <= 0)
        return 0;
    const float both = (a->right - a->left) * (a->bottom - a->top) + (b->right - b->left) * (b->bottom - b->top);
    return width * height / (both - width * height);
}

static int yolo_compare(const void *a, const void *b)
{
    const float x = ((const struct yolo_box *)a)->score, y = ((const struct yolo_box *)b)->score;
    return (x < y) - (x > y);
}

/* Keeps the most likely boxes, best first, and of boxes of one class that overlap by more than `overlap` the best. */
static void yolo_suppress(struct yolo_boxes *boxes, float overlap)
{
    size_t kept = 0;
    qsort(boxes->at, boxes->count, sizeof(boxes->at[0]), yolo_compare);
    for (size_t i = 0; i < boxes->count; i++) {
        size_t j = 0;
        while (j < kept &&
               (boxes->at[j].class != boxes->at[i].class || yolo_overlap(&boxes->at[j], &boxes->at[i]) <= overlap))
            j++;
        if (j == kept)
            boxes->at[kept++] = boxes->at[i];
    }
    boxes->count = kept;
}

#endif
