/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/cmd/graph.h"

#include <stdlib.h>

static uint32_t count_lines(const char *text)
{
    uint32_t lines = 1;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static bool read_value(struct graph_picture *p, char *line)
{
    static const char *const places[] = { "input", "owned", "output", "constant", "temp" };
    struct graph_value *value = &p->values[p->value_count];
    char place[16];
    unsigned long long bytes;
    const char *comma = strchr(line, ',');
    if (sscanf(line, "%%%u = %15[a-z] %u", &value->number, place, &value->slot) < 2 || !comma ||
        sscanf(comma, ", %llu bytes", &bytes) != 1)
        return false;
    value->bytes = bytes;
    const char *quote = strchr(comma, '"');
    value->name = quote ? quote : "";
    for (uint32_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strcmp(place, places[i]) == 0)
            value->place = (enum graph_place)i;
    p->value_count++;
    return true;
}

/* Values are listed by rising number. */
static bool find_value(const struct graph_picture *p, uint32_t number, uint32_t *out)
{
    uint32_t low = 0, high = p->value_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (p->values[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return low < p->value_count && p->values[low].number == number;
}

/* "%0 f32[2]{1}+0, %1 f32[2]{1}+0"; a view does not contain spaces. */
static bool read_operands(struct graph_picture *p, struct graph_node *node, char *line)
{
    for (char *part = line; *part && *part == '%';) {
        char *view = strchr(part, ' '), *end = view ? view + 1 + strcspn(view + 1, " ") : NULL;
        struct graph_operand *operand = &node->operands[node->operand_count];
        if (!view || node->operand_count == GRAPH_OPERANDS_MAX ||
            !find_value(p, (uint32_t)strtoul(part + 1, NULL, 10), &operand->value))
            return false;
        operand->view = view + 1;
        node->operand_count++;
        part = *end ? end + 1 : end;
        if (end[-1] == ',')
            end[-1] = 0;
        *end = 0;
    }
    return true;
}

/* "conv strides=[1,1] ; node 3 DML_OPERATOR_CONVOLUTION \"conv1\" + \"relu1\"" */
static void read_node(struct graph_node *node, char *line)
{
    static const char before[] = " ; node ", prefix[] = "DML_OPERATOR_";
    char *from = strstr(line, before);
    node->op = line;
    node->origin = node->number = node->names = node->kernel = "";
    if (!from)
        return;
    *from = 0;
    node->number = from + strlen(before);
    char *space = strchr(from + strlen(before), ' ');
    if (!space)
        return;
    *space = 0;
    char *names = strstr(space + 1, " \"");
    if (names) {
        *names = 0;
        node->names = names + 1;
    }
    node->origin = strncmp(space + 1, prefix, strlen(prefix)) == 0 ? space + 1 + strlen(prefix) : space + 1;
}

static bool read_graph(struct graph_picture *p)
{
    char *rest = p->text, *line;
    bool fine = strncmp(p->text, "graph: ", 7) == 0;
    strsep(&rest, "\n");
    while (fine && (line = strsep(&rest, "\n"))) {
        struct graph_node *last = p->node_count ? &p->nodes[p->node_count - 1] : NULL;
        if (*line == '%') {
            fine = read_value(p, line);
        } else if (strncmp(line, "    -> ", 7) == 0) {
            if (last)
                last->input_count = last->operand_count;
            fine = last && read_operands(p, last, line + 7);
        } else if (strncmp(line, "    ", 4) == 0) {
            fine = last && read_operands(p, last, line + 4);
        } else if (*line) {
            read_node(&p->nodes[p->node_count++], line);
        }
    }
    return fine;
}

static bool read_block(struct graph_picture *p, char *line)
{
    struct graph_block *block = &p->blocks[p->block_count];
    unsigned long long offset, bytes;
    char *label = strrchr(line, ' ');
    if (!label ||
        sscanf(line, "block temp+%llu, %llu bytes, steps %u to %u,", &offset, &bytes, &block->first, &block->last) != 4)
        return false;
    *block = (struct graph_block){ offset, bytes, block->first, block->last, label + 1 };
    p->block_count++;
    return block->first <= block->last && block->last < p->node_count;
}

/* Step n of the plan is operator n of the graph. */
static bool read_plan(struct graph_picture *p)
{
    char *rest = p->plan, *line = strsep(&rest, "\n");
    unsigned long long bytes, least, persistent;
    uint32_t steps;
    if (sscanf(line, "plan: %u steps, temp %llu bytes (at least %llu), persistent %llu bytes", &steps, &bytes, &least,
               &persistent) != 4 ||
        steps != p->node_count)
        return false;
    p->temporary_bytes = bytes;
    p->min_bytes = least;
    p->persistent_bytes = persistent;
    p->planned = true;
    while ((line = strsep(&rest, "\n"))) {
        char *colon = strchr(line, ':'), *space = strchr(line, ' ');
        if (strncmp(line, "block ", 6) == 0 && !read_block(p, line))
            return false;
        if (*line != '#' || !colon || !space || space > colon)
            continue;
        uint32_t number = (uint32_t)strtoul(line + 1, NULL, 10);
        *colon = 0;
        if (number < p->node_count)
            p->nodes[number].kernel = space + 1;
    }
    return true;
}

bool tools_graph_read(const char *text, const char *plan, struct graph_picture *p, struct tools_error *error)
{
    memset(p, 0, sizeof(*p));
    uint32_t lines = count_lines(text), plan_lines = plan ? count_lines(plan) : 1;
    p->text = strdup(text);
    p->plan = plan ? strdup(plan) : NULL;
    p->values = calloc(lines, sizeof(*p->values));
    p->nodes = calloc(lines, sizeof(*p->nodes));
    p->blocks = calloc(plan_lines, sizeof(*p->blocks));
    bool fine = p->text && (p->plan || !plan) && p->values && p->nodes && p->blocks;
    if (!fine)
        tools_fail_memory(error);
    else if (!read_graph(p) || (plan && !read_plan(p)))
        fine = tools_fail(error, TOOLS_RUNTIME,
                          "libdirectml's text of the graph is not understood; are both of one version?");
    if (!fine)
        tools_graph_finish(p);
    return fine;
}

void tools_graph_finish(struct graph_picture *p)
{
    free(p->text);
    free(p->plan);
    free(p->values);
    free(p->nodes);
    free(p->blocks);
    memset(p, 0, sizeof(*p));
}
