/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as SVG. One row for each operator, in the order of execution, from top to bottom:
 *
 *   lanes | operators | temporary buffer
 *
 * A value that is used only by the next operator is an arrow between the two. Other values run along a lane on the
 * left, from their definition to their last use. On the right, at the height of the operators that use it, each block
 * of the temporary buffer is a rectangle from its first to its last byte. */
#include "tools/cmd/graph.h"

#include <stdarg.h>
#include <stdlib.h>

#define ROW     64 /* pixels from operator to operator */
#define BOX     52 /* of that its height */
#define WIDTH   680
#define LANE    9
#define TOP     122
#define MEMORY  440
#define MARGIN  24
#define LETTER  7.0 /* a letter of the monospaced font */
#define LANES   48  /* further values share the outermost */
#define COLOURS 10

struct drawing {
    const struct graph_picture *p;
    FILE *file;
    uint32_t *first, *last; /* [value]: the rows that use it; inputs begin at row 0, outputs end at the last */
    uint32_t *touches;      /* [value]: how many operators do */
    uint32_t *lane;         /* [value], from the right; UINT32_MAX: none */
    uint32_t lane_count;
    double left; /* edge of the boxes */
};

static const char *const colours[COLOURS] = { "#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759",
                                              "#76b7b2", "#9c755f", "#b8860b", "#d4607a", "#7f7f7f" };

/* ---- text ---- */

/* The bytes of the UTF-8 character at the start of the text; 0: none that XML may contain. */
static size_t character(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t size = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < size; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    if (size == 1)
        return c[0] >= 32 && c[0] != 127;
    if (size == 2)
        return c[0] == 0xC2 && c[1] < 0xA0 ? 0 : 2; /* a control character */
    if (size == 3)                                  /* overlong, a surrogate, or invalid */
        return (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] >= 0xA0) ||
                       (c[0] == 0xEF && c[1] == 0xBF && c[2] >= 0xBE)
                   ? 0
                   : 3;
    return (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] >= 0x90) ? 0 : size;
}

/* Truncates to this many characters; '?' for invalid bytes. */
static void escape(FILE *file, const char *text, size_t letters)
{
    for (; *text && letters; letters--) {
        const size_t size = character(text);
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else if (size)
            fwrite(text, 1, size, file);
        else
            fputc(*text == '\n' || *text == '\t' ? ' ' : '?', file);
        text += BASE_MAX(size, 1);
    }
}

static size_t count_letters(const char *text)
{
    size_t count = 0;
    for (; *text; count++)
        text += BASE_MAX(character(text), 1);
    return count;
}

/* Truncates to this many letters, with an ellipsis as the last one. */
static void put_text(FILE *file, double x, double y, const char *style, const char *text, size_t letters)
{
    const size_t length = count_letters(text);
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, style);
    escape(file, text, length > letters ? letters - 1 : letters);
    fputs(length > letters ? "…</text>\n" : "</text>\n", file);
}

static void size_text(char *out, size_t size, uint64_t bytes)
{
    if (bytes >= 10 << 20)
        snprintf(out, size, "%.1f MiB", (double)bytes / 1048576);
    else if (bytes >= 1 << 20)
        snprintf(out, size, "%.2f MiB", (double)bytes / 1048576);
    else if (bytes >= 1 << 10)
        snprintf(out, size, "%.1f KiB", (double)bytes / 1024);
    else
        snprintf(out, size, "%llu bytes", (unsigned long long)bytes);
}

/* ---- views ---- */

struct view {
    uint32_t rank, type_letters; /* the text starts with the type */
    long long sizes[8], strides[8];
};

static bool view_read(const char *text, struct view *view)
{
    char *at = strchr(text, '[');
    memset(view, 0, sizeof(*view));
    view->type_letters = at ? (uint32_t)(at - text) : 0;
    for (; at && *at != ']' && view->rank < 8; view->rank++)
        view->sizes[view->rank] = strtoll(at + 1, &at, 10);
    at = at ? strchr(at, '{') : NULL;
    for (uint32_t d = 0; at && d < view->rank; d++)
        view->strides[d] = strtoll(at + 1, &at, 10);
    return at != NULL;
}

/* Whether the dimensions are dense, from the innermost as `order` counts them. */
static bool dense(const struct view *view, bool channels_last)
{
    long long stride = 1;
    for (uint32_t i = 0; i < view->rank; i++) {
        uint32_t d = view->rank - 1 - i;
        if (channels_last && d)
            d = i == 0 ? 1 : view->rank - i;
        if (view->sizes[d] != 1 && view->strides[d] != stride)
            return false;
        stride *= view->sizes[d];
    }
    return true;
}

/* "f32[1,64,56,56] NHWC": strides are written out if they have no name. */
static void view_text(const char *text, char *out, size_t size)
{
    struct view view;
    const char *brace = strchr(text, '{'), *end = strchr(text, '}');
    snprintf(out, size, "%s", text);
    if (!view_read(text, &view) || !brace || !end)
        return;
    int head = (int)(brace - text);
    bool plain = dense(&view, false);
    if (plain || (view.rank > 2 && dense(&view, true)))
        snprintf(out, size, "%.*s%s%s", head, text,
                 plain            ? ""
                 : view.rank == 4 ? " NHWC"
                                  : " channels last",
                 strcmp(end + 1, "+0") ? end + 1 : "");
}

/* ---- operators ---- */

/* Parameters with default values: "groups=1", "strides=[1,1]", "pad_start=[0,0]". */
static bool says_nothing(const char *word, size_t length)
{
    static const char *const plain[] = { "groups=1", "alpha=1", "beta=0", "beta=1", "p=0", "mode=0" };
    const char *list = memchr(word, '[', length);
    for (uint32_t i = 0; i < ARRAY_SIZE(plain); i++)
        if (strlen(plain[i]) == length && memcmp(word, plain[i], length) == 0)
            return true;
    if (!list)
        return false;
    char usual = memcmp(word, "pad_", 4) == 0 ? '0' : '1';
    for (const char *at = list + 1; at < word + length - 1; at++)
        if (*at != usual && *at != ',')
            return false;
    return memcmp(word, "pad_", 4) == 0 || memcmp(word, "strides", 7) == 0 || memcmp(word, "dilations", 9) == 0;
}

/* A short form of the text after the kind: of programs "{i0:f32; RELU(i0)}" only the computation. */
static void short_op(const char *op, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (const char *at = op + strcspn(op, " "); *at && used + 1 < size;) {
        at += *at == ' ';
        size_t length = *at == '{' ? strlen(at) : strcspn(at, " ");
        const char *from = at, *next = at + length;
        if (*at == '{') {
            const char *semicolon = strstr(at, "; "), *end = strchr(at, '}');
            from = semicolon ? semicolon + 2 : at + 1;
            length = end && end > from ? (size_t)(end - from) : strlen(from);
            next = end ? end + 1 : at + strlen(at);
        }
        if (length == 8 && memcmp(from, "epilogue", 8) == 0)
            used += (size_t)snprintf(out + used, size - used, "%sthen", used ? " " : "");
        else if (!says_nothing(from, length))
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)length, from);
        at = next;
    }
}

/* ---- layout ---- */

static void note_touches(struct drawing *d)
{
    const struct graph_picture *p = d->p;
    for (uint32_t v = 0; v < p->value_count; v++)
        d->first[v] = UINT32_MAX;
    for (uint32_t n = 0; n < p->node_count; n++)
        for (uint32_t t = 0; t < p->nodes[n].operand_count; t++) {
            uint32_t v = p->nodes[n].operands[t].value;
            d->touches[v] += d->first[v] == UINT32_MAX || d->last[v] != n;
            d->first[v] = BASE_MIN(d->first[v], n);
            d->last[v] = n;
        }
}

static bool is_edge(const struct drawing *d, uint32_t value)
{
    enum graph_place place = d->p->values[value].place;
    return place == GRAPH_PLACE_TEMP || (place == GRAPH_PLACE_OUTPUT && d->touches[value] > 1) ||
           (place == GRAPH_PLACE_INPUT && d->touches[value] > 1);
}

static bool is_arrow(const struct drawing *d, uint32_t value)
{
    return is_edge(d, value) && d->touches[value] == 2 && d->last[value] == d->first[value] + 1;
}

/* Lanes by first row: each value gets the innermost lane that is free there. */
static void choose_lanes(struct drawing *d)
{
    uint32_t until[LANES] = { 0 };
    for (uint32_t v = 0; v < d->p->value_count; v++)
        d->lane[v] = UINT32_MAX;
    for (uint32_t n = 0; n < d->p->node_count; n++)
        for (uint32_t t = 0; t < d->p->nodes[n].operand_count; t++) {
            uint32_t v = d->p->nodes[n].operands[t].value, lane = 0;
            if (d->first[v] != n || d->lane[v] != UINT32_MAX || !is_edge(d, v) || is_arrow(d, v) || d->touches[v] < 2)
                continue;
            while (lane < LANES - 1 && until[lane] > n)
                lane++;
            until[lane] = d->last[v] + 1;
            d->lane[v] = lane;
            d->lane_count = BASE_MAX(d->lane_count, lane + 1);
        }
}

static double row_y(uint32_t row)
{
    return TOP + (double)row * ROW;
}

/* ---- drawing ---- */

static const struct {
    const char *style, *about, *kinds;
} families[] = {
    { "a", "GEMMs", " gemm qgemm conv block attention recurrent " },
    { "b", "element-wise", " map " },
    { "c", "reductions and windows",
      " reduce pool pool_grad softmax norm moments grad_sums lp_norm lrn scan sort resample roi roi_grad fold " },
    { "d", "moves and other ops", "" },
};

static const char *family_of(const char *op)
{
    char kind[32];
    snprintf(kind, sizeof(kind), " %.*s ", (int)BASE_MIN(strcspn(op, " "), 24), op);
    for (uint32_t i = 0; i + 1 < ARRAY_SIZE(families); i++)
        if (strstr(families[i].kinds, kind))
            return families[i].style;
    return "d";
}

static void draw_head(const struct drawing *d, const char *title, double width, double height)
{
    FILE *f = d->file;
    double x = d->left;
    char line[160], bytes[3][32];
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
            "<style>\ntext{font:11px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#333}\n"
            ".t{font:bold 17px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#111}\n"
            ".h{font:12px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#555}\n"
            ".n{font:bold 12px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#111}\n"
            ".k{fill:#0a5fb4;text-anchor:end}.e{text-anchor:end;fill:#555}.w{fill:#111}.m{fill:#555}\n"
            ".a{fill:#e3eefb;stroke:#6a9fd8}.b{fill:#e6f5e4;stroke:#79b572}.c{fill:#fdf0dc;stroke:#dba24a}"
            ".d{fill:#f1f1f1;stroke:#a5a5a5}\n.l{fill:none;stroke-width:1.6}.g{stroke:#eee}.p{stroke:#c00;"
            "stroke-dasharray:5 4}\n</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    put_text(f, MARGIN, 32, "t", title, 200);
    snprintf(line, sizeof(line), "%u operators in the order of execution", d->p->node_count);
    put_text(f, MARGIN, 54, "h", line, sizeof(line));
    for (uint32_t i = 0; i < ARRAY_SIZE(families); i++) {
        fprintf(f, "<rect x=\"%.1f\" y=\"66\" width=\"14\" height=\"12\" rx=\"3\" class=\"%s\"/>\n", x,
                families[i].style);
        put_text(f, x + 20, 76, "h", families[i].about, 40);
        x += 42 + 7.2 * (double)strlen(families[i].about);
    }
    if (!d->p->planned)
        return;
    size_text(bytes[0], sizeof(bytes[0]), d->p->temporary_bytes);
    size_text(bytes[1], sizeof(bytes[1]), d->p->min_bytes);
    size_text(bytes[2], sizeof(bytes[2]), d->p->persistent_bytes);
    snprintf(line, sizeof(line), "temporary buffer %s, of which %s are in use at one time; persistent %s", bytes[0],
             bytes[1], bytes[2]);
    put_text(f, d->left + WIDTH + 40, 76, "h", line, sizeof(line));
}

static void add_part(char *line, size_t size, const char *format, ...) BASE_PRINTF(3, 4);
static void add_part(char *line, size_t size, const char *format, ...)
{
    size_t used = strlen(line);
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, size - used, format, args);
    va_end(args);
}

static void operand_line(const struct drawing *d, const struct graph_node *node, uint32_t begin, uint32_t end,
                         char *line, size_t size)
{
    static const char *const places[] = { "input", "owned", "output", "const", "" };
    char view[160];
    line[0] = 0;
    for (uint32_t t = begin; t < end; t++) {
        const struct graph_value *value = &d->p->values[node->operands[t].value];
        view_text(node->operands[t].view, view, sizeof(view));
        add_part(line, size, "%s%%%u %s", t > begin ? ", " : "", value->number, view);
        if (*places[value->place])
            add_part(line, size, " %s", places[value->place]);
        if (value->place == GRAPH_PLACE_INPUT || value->place == GRAPH_PLACE_OUTPUT)
            add_part(line, size, " %u", value->slot);
    }
}

/* All of it, for the pointer that rests there. */
static void draw_tooltip(const struct drawing *d, const struct graph_node *node)
{
    fputs("<title>", d->file);
    escape(d->file, node->op, SIZE_MAX);
    if (*node->number)
        fprintf(d->file, "\nnode %s %s ", node->number, node->origin);
    escape(d->file, node->names, SIZE_MAX);
    for (uint32_t t = 0; t < node->operand_count; t++) {
        const struct graph_value *value = &d->p->values[node->operands[t].value];
        fprintf(d->file, "\n%s %%%u ", t < node->input_count ? "in " : "out", value->number);
        escape(d->file, node->operands[t].view, SIZE_MAX);
        fputs(*value->name ? " " : "", d->file);
        escape(d->file, value->name, SIZE_MAX);
    }
    if (*node->kernel)
        fprintf(d->file, "\nkernel %s", node->kernel);
    fputs("</title>\n", d->file);
}

static void draw_node(const struct drawing *d, uint32_t row)
{
    const struct graph_node *node = &d->p->nodes[row];
    double x = d->left, y = row_y(row);
    char line[1024], number[96];
    size_t letters = (size_t)((WIDTH - 20) / LETTER), kind = strcspn(node->op, " ");
    fprintf(d->file, "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"6\" class=\"%s\"/>\n", x, y, WIDTH,
            BOX, family_of(node->op));
    draw_tooltip(d, node);
    snprintf(number, sizeof(number), "%u  %.*s", row, (int)BASE_MIN(kind, 40), node->op);
    put_text(d->file, x + 10, y + 16, "n", number, 60);
    double after = 18 + 8.2 * (double)strlen(number);
    snprintf(line, sizeof(line), "%s%s%s", *node->number ? "node " : "made by a pass", node->number,
             *node->number ? " " : "");
    add_part(line, sizeof(line), "%s", *node->names ? node->names : node->origin);
    put_text(d->file, x + WIDTH - 10, y + 16, "e", line, 44);
    size_t room = letters - (size_t)(after / LETTER) - BASE_MIN(strlen(line), 44) - 1;
    char what[512];
    short_op(node->op, what, sizeof(what));
    put_text(d->file, x + after, y + 16, "m", what, BASE_MAX(room, 8));
    operand_line(d, node, 0, node->input_count, line, sizeof(line));
    put_text(d->file, x + 10, y + 31, "", line, letters);
    snprintf(line, sizeof(line), "-> ");
    operand_line(d, node, node->input_count, node->operand_count, line + 3, sizeof(line) - 3);
    put_text(d->file, x + 10, y + 45, "", line, letters - (*node->kernel ? strlen(node->kernel) + 2 : 0));
    put_text(d->file, x + WIDTH - 10, y + 45, "k", node->kernel, 60);
    fputs("</g>\n", d->file);
}

static bool node_has(const struct graph_node *node, uint32_t value, bool writes)
{
    uint32_t begin = writes ? node->input_count : 0, end = writes ? node->operand_count : node->input_count;
    for (uint32_t t = begin; t < end; t++)
        if (node->operands[t].value == value)
            return true;
    return false;
}

static void draw_arrow_head(const struct drawing *d, double x, double y, bool down, const char *colour)
{
    fprintf(d->file, "<path d=\"M%.1f %.1f l%s z\" fill=\"%s\"/>\n", x, y, down ? "-4 -6 h8" : "-6 -4 v8", colour);
}

/* The lane's line with a tap for each operator: a dot where the value is written, an arrow where it is read. */
static void draw_lane(const struct drawing *d, uint32_t v)
{
    const char *colour = colours[v % COLOURS];
    double x = d->left - 16 - LANE * (double)d->lane[v];
    double top = row_y(d->first[v]) + BOX - 8, bottom = row_y(d->last[v]) + 10;
    fprintf(d->file, "<g><title>%%%u, %llu bytes</title><path class=\"l\" stroke=\"%s\" d=\"M%.1f %.1f V%.1f\"/>\n",
            d->p->values[v].number, (unsigned long long)d->p->values[v].bytes, colour, x, top, bottom);
    for (uint32_t n = d->first[v]; n <= d->last[v]; n++) {
        bool writes = node_has(&d->p->nodes[n], v, true), reads = node_has(&d->p->nodes[n], v, false);
        double out = row_y(n) + BOX - 8, in = row_y(n) + 10;
        if (n == d->first[v] && reads && !writes)
            in = out; /* the line starts there */
        if (reads) {
            fprintf(d->file, "<path class=\"l\" stroke=\"%s\" d=\"M%.1f %.1f H%.1f\"/>\n", colour, x, in, d->left - 5);
            draw_arrow_head(d, d->left, in, false, colour);
        }
        if (writes)
            fprintf(d->file,
                    "<path class=\"l\" stroke=\"%s\" d=\"M%.1f %.1f H%.1f\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" "
                    "fill=\"%s\"/>\n",
                    colour, x, n == d->last[v] && n > d->first[v] ? in : out, d->left, x,
                    n == d->last[v] && n > d->first[v] ? in : out, colour);
    }
    fputs("</g>\n", d->file);
}

static void draw_edges(const struct drawing *d)
{
    for (uint32_t v = 0; v < d->p->value_count; v++) {
        if (d->first[v] == UINT32_MAX)
            continue;
        if (d->lane[v] != UINT32_MAX)
            draw_lane(d, v);
        if (!is_arrow(d, v))
            continue;
        double x = d->left + 60, from = row_y(d->first[v]) + BOX, to = row_y(d->last[v]);
        fprintf(d->file, "<path class=\"l\" stroke=\"#555\" d=\"M%.1f %.1f V%.1f\"/>\n", x, from, to - 5);
        draw_arrow_head(d, x, to, true, "#555");
    }
}

/* ---- the temporary buffer ---- */

static void draw_block(const struct drawing *d, const struct graph_block *block, uint32_t number, double x,
                       double scale)
{
    double y = row_y(block->first) - 3, height = row_y(block->last) + BOX + 3 - y;
    double left = x + (double)block->offset * scale, width = BASE_MAX((double)block->bytes * scale, 1.0);
    char bytes[32], label[64];
    size_text(bytes, sizeof(bytes), block->bytes);
    fprintf(
        d->file,
        "<g><title>%s: %s at %llu, steps %u to %u</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
        "rx=\"3\" fill=\"%s\" fill-opacity=\"0.55\" stroke=\"#fff\"/>\n",
        block->label, bytes, (unsigned long long)block->offset, block->first, block->last, left, y, width, height,
        colours[number % COLOURS]);
    snprintf(label, sizeof(label), "%s %s", block->label, bytes);
    if (strlen(label) * LETTER + 10 < width)
        put_text(d->file, left + 6, y + 15, "w", label, sizeof(label));
    else if (strlen(block->label) * LETTER + 6 < width)
        put_text(d->file, left + 4, y + 15, "w", block->label, sizeof(label));
    fputs("</g>\n", d->file);
}

static void draw_memory(const struct drawing *d)
{
    const struct graph_picture *p = d->p;
    double x = d->left + WIDTH + 40, bottom = row_y(p->node_count);
    double scale = p->temporary_bytes ? MEMORY / (double)p->temporary_bytes : 0;
    char bytes[32];
    for (uint32_t i = 0; i <= 4; i++) {
        double at = x + MEMORY * i / 4.0;
        size_text(bytes, sizeof(bytes), p->temporary_bytes * i / 4);
        fprintf(d->file, "<path class=\"g\" d=\"M%.1f %d V%.1f\"/>\n", at, TOP - 10, bottom);
        put_text(d->file, at - (i ? strlen(bytes) * LETTER / 2 : 0), TOP - 16, "m", i ? bytes : "0", 32);
    }
    for (uint32_t i = 0; i < p->block_count; i++)
        draw_block(d, &p->blocks[i], i, x, scale);
    double least = x + (double)p->min_bytes * scale;
    fprintf(d->file,
            "<path class=\"p\" d=\"M%.1f %d V%.1f\"><title>the lower bound: so much is in use at one time"
            "</title></path>\n",
            least, TOP - 10, bottom);
}

static void draw(struct drawing *d, const char *title)
{
    bool memory = d->p->planned && d->p->temporary_bytes;
    note_touches(d);
    choose_lanes(d);
    d->left = MARGIN + 20 + LANE * (double)d->lane_count;
    double width = d->left + WIDTH + MARGIN + (memory ? MEMORY + 40 + 40 : 0);
    draw_head(d, title, d->p->planned ? BASE_MAX(width, d->left + WIDTH + 620) : width,
              row_y(d->p->node_count) + MARGIN);
    if (memory)
        draw_memory(d);
    draw_edges(d);
    for (uint32_t n = 0; n < d->p->node_count; n++)
        draw_node(d, n);
    fputs("</svg>\n", d->file);
}

void tools_graph_draw(const struct graph_picture *picture, const char *title, FILE *file)
{
    size_t values = picture->value_count + (size_t)1;
    struct drawing d = { .p = picture, .file = file };
    d.first = calloc(values, 4 * sizeof(*d.first));
    if (!d.first)
        return;
    d.last = d.first + values;
    d.touches = d.last + values;
    d.lane = d.touches + values;
    draw(&d, title);
    free(d.first);
}
