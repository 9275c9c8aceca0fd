/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of boxes with a text above, drawn into images of 8-bit red, green and blue. */
#ifndef DRAW_H
#define DRAW_H

#include <ctype.h>
#include <stdint.h>
#include <string.h>

struct canvas {
    uint8_t *pixels;
    int width, height, line; /* line: bytes from row to row */
};

struct colour {
    uint8_t red, green, blue;
};

/* Letters of 5 x 7 points: a number for each row, whose bit 4 is the leftmost point. */
enum { LETTER_WIDTH = 5, LETTER_HEIGHT = 7 };
static const char letter_names[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.-%";
static const uint8_t letter_rows[][LETTER_HEIGHT] = {
    { 14, 17, 19, 21, 25, 17, 14 }, { 4, 12, 4, 4, 4, 4, 14 },      { 14, 17, 1, 2, 4, 8, 31 },
    { 31, 2, 4, 2, 1, 17, 14 },     { 2, 6, 10, 18, 31, 2, 2 },     { 31, 16, 30, 1, 1, 17, 14 },
    { 6, 8, 16, 30, 17, 17, 14 },   { 31, 1, 2, 4, 4, 4, 4 },       { 14, 17, 17, 14, 17, 17, 14 },
    { 14, 17, 17, 15, 1, 2, 12 },   { 14, 17, 17, 31, 17, 17, 17 }, { 30, 17, 17, 30, 17, 17, 30 },
    { 14, 17, 16, 16, 16, 17, 14 }, { 30, 17, 17, 17, 17, 17, 30 }, { 31, 16, 16, 30, 16, 16, 31 },
    { 31, 16, 16, 30, 16, 16, 16 }, { 14, 17, 16, 23, 17, 17, 15 }, { 17, 17, 17, 31, 17, 17, 17 },
    { 14, 4, 4, 4, 4, 4, 14 },      { 7, 2, 2, 2, 2, 18, 12 },      { 17, 18, 20, 24, 20, 18, 17 },
    { 16, 16, 16, 16, 16, 16, 31 }, { 17, 27, 21, 21, 17, 17, 17 }, { 17, 17, 25, 21, 19, 17, 17 },
    { 14, 17, 17, 17, 17, 17, 14 }, { 30, 17, 17, 30, 16, 16, 16 }, { 14, 17, 17, 17, 21, 18, 13 },
    { 30, 17, 17, 30, 20, 18, 17 }, { 15, 16, 16, 14, 1, 1, 30 },   { 31, 4, 4, 4, 4, 4, 4 },
    { 17, 17, 17, 17, 17, 17, 14 }, { 17, 17, 17, 17, 17, 10, 4 },  { 17, 17, 17, 21, 21, 27, 17 },
    { 17, 17, 10, 4, 10, 17, 17 },  { 17, 17, 10, 4, 4, 4, 4 },     { 31, 1, 2, 4, 8, 16, 31 },
    { 0, 0, 0, 0, 0, 12, 12 },      { 0, 0, 0, 31, 0, 0, 0 },       { 24, 25, 2, 4, 8, 19, 3 },
};

/* Points outside of the image are ignored. */
static void draw_rectangle(const struct canvas *to, int left, int top, int right, int bottom, struct colour colour)
{
    left = left < 0 ? 0 : left;
    top = top < 0 ? 0 : top;
    right = right > to->width ? to->width : right;
    bottom = bottom > to->height ? to->height : bottom;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++)
            memcpy(to->pixels + (ptrdiff_t)y * to->line + (ptrdiff_t)x * 3, &colour, 3);
}

static void draw_frame(const struct canvas *to, const int at[4], int thickness, struct colour colour)
{
    const int left = at[0], top = at[1], right = at[2], bottom = at[3];
    draw_rectangle(to, left, top, right, top + thickness, colour);
    draw_rectangle(to, left, bottom - thickness, right, bottom, colour);
    draw_rectangle(to, left, top, left + thickness, bottom, colour);
    draw_rectangle(to, right - thickness, top, right, bottom, colour);
}

/* Capitals, with points of `size` pixels, on a background of the colour whose lower left corner is given; it is moved
 * to be within the image. Letters are black or white, whichever contrasts more with the background. */
static void draw_text(const struct canvas *to, int left, int bottom, int size, const char *text, struct colour ground)
{
    const int width = ((int)strlen(text) * (LETTER_WIDTH + 1) + 1) * size, height = (LETTER_HEIGHT + 2) * size;
    const uint8_t ink = ground.red * 3 + ground.green * 6 + ground.blue > 1280 ? 0 : 255;
    left = left + width > to->width ? to->width - width : left;
    left = left < 0 ? 0 : left;
    bottom = bottom < height ? height : bottom;
    draw_rectangle(to, left, bottom - height, left + width, bottom, ground);
    for (int x = left + size; *text; text++, x += (LETTER_WIDTH + 1) * size) {
        const char *found = strchr(letter_names, toupper((unsigned char)*text));
        for (int i = 0; found && i < LETTER_WIDTH * LETTER_HEIGHT; i++)
            if (letter_rows[found - letter_names][i / LETTER_WIDTH] >> (LETTER_WIDTH - 1 - i % LETTER_WIDTH) & 1) {
                const int at_x = x + i % LETTER_WIDTH * size, at_y = bottom - height + (1 + i / LETTER_WIDTH) * size;
                draw_rectangle(to, at_x, at_y, at_x + size, at_y + size, (struct colour){ ink, ink, ink });
            }
    }
}

/* Neighbouring numbers get hues that are far apart. */
static struct colour draw_colour(unsigned number)
{
    const unsigned hue = number * 41 % 60, step = hue % 10 * 20 + 40;
    const uint8_t up = (uint8_t)step, down = (uint8_t)(255 - step), most = 240, least = 40;
    const struct colour colours[6] = { { most, up, least },   { down, most, least }, { least, most, up },
                                       { least, down, most }, { up, least, most },   { most, least, down } };
    return colours[hue / 10];
}

#endif
