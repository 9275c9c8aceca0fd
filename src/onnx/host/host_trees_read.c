/* SPDX-License-Identifier: Apache-2.0 */
/* Trees from the attributes of the three operators: TreeEnsembleClassifier and TreeEnsembleRegressor name nodes by
 * pairs of numbers and list the weights of leaves apart; TreeEnsemble numbers nodes and leaves. */
#include "onnx/host/host_trees.h"

#include "onnx/emit/build.h"

#include <math.h>
#include <stdlib.h>

static HRESULT invalid(struct onnx_host_call *c, const char *what)
{
    return onnx_flow_fail(c->flow, c->node, "its trees are not valid: %s", what);
}

static struct host_trees *make(uint32_t nodes, uint32_t roots, uint32_t weights, uint32_t members)
{
    struct host_trees *t =
        calloc(1, sizeof(*t) + (size_t)nodes * sizeof(*t->nodes) + (size_t)weights * sizeof(*t->weights) +
                      (size_t)members * sizeof(*t->members) + (size_t)roots * sizeof(*t->roots));
    if (!t)
        return NULL;
    t->nodes = (struct host_branch *)(t + 1);
    t->weights = (struct host_weight *)(t->nodes + nodes);
    t->members = (double *)(t->weights + weights);
    t->roots = (uint32_t *)(t->members + members);
    t->node_count = nodes;
    t->weight_count = weights;
    t->member_count = members;
    return t;
}

static bool in_range(int64_t value, uint32_t count)
{
    return value >= 0 && value < count;
}

/* ---- nodes that are named by pairs ---- */

struct name {
    int64_t tree, node;
    uint32_t at;
};

static int compare_names(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int order = (x->tree > y->tree) - (x->tree < y->tree);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

struct old_lists {
    struct onnx_host_list trees, nodes, features, modes, values, yes, no, missing; /* of nodes */
    struct onnx_host_list leaf_trees, leaf_nodes, targets, weights;                /* of leaves */
    const struct onnx_attribute *mode_names;
    struct name *names; /* sorted */
};

static uint32_t find_node(const struct old_lists *l, int64_t tree, int64_t node)
{
    const struct name key = { tree, node, 0 };
    const struct name *found = bsearch(&key, l->names, l->trees.count, sizeof(key), compare_names);
    return found ? found->at : UINT32_MAX;
}

static HRESULT old_open(struct onnx_host_call *c, struct old_lists *l)
{
    const struct onnx_node *n = c->node;
    const bool classes = !strcmp(n->op, "TreeEnsembleClassifier");
    l->trees = onnx_host_list(n, "nodes_treeids", NULL);
    l->nodes = onnx_host_list(n, "nodes_nodeids", NULL);
    l->features = onnx_host_list(n, "nodes_featureids", NULL);
    l->values = onnx_host_list(n, "nodes_values", "nodes_values_as_tensor");
    l->yes = onnx_host_list(n, "nodes_truenodeids", NULL);
    l->no = onnx_host_list(n, "nodes_falsenodeids", NULL);
    l->missing = onnx_host_list(n, "nodes_missing_value_tracks_true", NULL);
    l->mode_names = onnx_attribute(n, "nodes_modes");
    l->leaf_trees = onnx_host_list(n, classes ? "class_treeids" : "target_treeids", NULL);
    l->leaf_nodes = onnx_host_list(n, classes ? "class_nodeids" : "target_nodeids", NULL);
    l->targets = onnx_host_list(n, classes ? "class_ids" : "target_ids", NULL);
    l->weights = onnx_host_list(n, classes ? "class_weights" : "target_weights",
                                classes ? "class_weights_as_tensor" : "target_weights_as_tensor");
    const uint32_t count = l->trees.count, leaves = l->targets.count;
    if (!count || !l->trees.ints || l->nodes.count != count || !l->nodes.ints || l->features.count != count ||
        l->values.count != count || l->yes.count != count || !l->yes.ints || l->no.count != count || !l->no.ints ||
        (l->missing.count && l->missing.count != count) || !l->mode_names || !l->mode_names->strings ||
        l->mode_names->count != count)
        return invalid(c, "the lists of nodes differ in length");
    if (l->leaf_trees.count != leaves || l->leaf_nodes.count != leaves || l->weights.count != leaves)
        return invalid(c, "the lists of weights differ in length");
    return S_OK;
}

static HRESULT old_nodes(struct onnx_host_call *c, const struct old_lists *l, struct host_trees *t, bool *child)
{
    static const char *const modes[] = { "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF" };
    for (uint32_t i = 0; i < t->node_count; i++) {
        struct host_branch *n = &t->nodes[i];
        while (n->mode <= HOST_LEAF && strcmp(l->mode_names->strings[i], modes[n->mode]))
            n->mode++;
        if (n->mode > HOST_LEAF || n->mode == HOST_MEMBER)
            return onnx_flow_fail(c->flow, c->node, "node mode '%.40s' is not supported", l->mode_names->strings[i]);
        if (n->mode == HOST_LEAF)
            continue;
        const int64_t tree = l->trees.ints[i], feature = onnx_host_list_int(&l->features, i);
        n->yes = find_node(l, tree, l->yes.ints[i]);
        n->no = find_node(l, tree, l->no.ints[i]);
        if (n->yes == UINT32_MAX || n->no == UINT32_MAX)
            return invalid(c, "a node has a child that does not exist");
        if (!in_range(feature, UINT32_MAX))
            return invalid(c, "a feature's number is negative");
        n->feature = (uint32_t)feature;
        n->value = onnx_host_list_real(&l->values, i);
        n->missing = l->missing.count && onnx_host_list_int(&l->missing, i) == 1;
        child[n->yes] = child[n->no] = true;
    }
    return S_OK;
}

/* Sorted by their leaves. */
static HRESULT old_weights(struct onnx_host_call *c, const struct old_lists *l, struct host_trees *t)
{
    uint32_t at = 0;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < t->weight_count; i++) {
            uint32_t leaf = find_node(l, onnx_host_list_int(&l->leaf_trees, i), onnx_host_list_int(&l->leaf_nodes, i));
            const int64_t target = onnx_host_list_int(&l->targets, i);
            if (leaf == UINT32_MAX || !in_range(target, t->targets))
                return invalid(c, "a weight belongs to a node or a target that does not exist");
            if (t->nodes[leaf].mode != HOST_LEAF)
                continue;
            if (pass)
                t->weights[t->nodes[leaf].end] =
                    (struct host_weight){ (uint32_t)target, onnx_host_list_real(&l->weights, i) };
            t->nodes[leaf].end++;
        }
        for (uint32_t i = 0; i < t->node_count && !pass; i++) {
            const uint32_t count = t->nodes[i].end;
            t->nodes[i].first = t->nodes[i].end = at;
            at += count;
        }
    }
    return S_OK;
}

static HRESULT old_fill(struct onnx_host_call *c, struct old_lists *l, struct host_trees *t, bool *child)
{
    for (uint32_t i = 0; i < t->node_count; i++)
        l->names[i] = (struct name){ l->trees.ints[i], l->nodes.ints[i], i };
    qsort(l->names, t->node_count, sizeof(*l->names), compare_names);
    for (uint32_t i = 1; i < t->node_count; i++)
        if (!compare_names(&l->names[i - 1], &l->names[i]))
            return invalid(c, "two nodes have one number");
    HRESULT hr = old_nodes(c, l, t, child);
    if (SUCCEEDED(hr))
        hr = old_weights(c, l, t);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < t->node_count; i++)
        if (!child[i])
            t->roots[t->root_count++] = i;
    return hr;
}

static HRESULT read_old(struct onnx_host_call *c, struct host_trees **out)
{
    static const char *const aggregates[] = { "AVERAGE", "SUM", "MIN", "MAX" };
    const char *aggregate = onnx_attr_string(c->node, "aggregate_function", "SUM");
    const bool classes = !strcmp(c->node->op, "TreeEnsembleClassifier");
    const struct onnx_attribute *strings = onnx_attribute(c->node, "classlabels_strings");
    struct old_lists l = { 0 };
    HRESULT hr = old_open(c, &l);
    if (FAILED(hr))
        return hr;
    struct host_trees *t = *out = make(l.trees.count, l.trees.count, l.targets.count, 0);
    bool *child = calloc(l.trees.count, sizeof(*child));
    l.names = calloc(l.trees.count, sizeof(*l.names));
    hr = t && child && l.names ? S_OK : onnx_host_no_memory(c);
    if (SUCCEEDED(hr)) {
        uint32_t labels = onnx_host_list(c->node, "classlabels_int64s", NULL).count;
        t->targets = classes ? (strings && strings->count ? strings->count : labels)
                             : (uint32_t)BASE_MAX(onnx_attr_int(c->node, "n_targets", 1), 0);
        while (t->aggregate < ARRAY_SIZE(aggregates) && strcmp(aggregate, aggregates[t->aggregate]))
            t->aggregate++;
        hr = t->aggregate < ARRAY_SIZE(aggregates) ? onnx_host_post(c, &t->post)
                                                   : invalid(c, "aggregate_function must be SUM, AVERAGE, MIN or MAX");
    }
    if (SUCCEEDED(hr))
        hr = old_fill(c, &l, t, child);
    free(child);
    free(l.names);
    return hr;
}

/* ---- numbered nodes and leaves ---- */

struct new_lists {
    struct onnx_host_list features, modes, values, yes, no, missing, yes_leaf, no_leaf, roots, targets, weights,
        members;
};

static HRESULT new_open(struct onnx_host_call *c, struct new_lists *l)
{
    const struct onnx_node *n = c->node;
    l->features = onnx_host_list(n, "nodes_featureids", NULL);
    l->modes = onnx_host_list(n, "", "nodes_modes");
    l->values = onnx_host_list(n, "", "nodes_splits");
    l->yes = onnx_host_list(n, "nodes_truenodeids", NULL);
    l->no = onnx_host_list(n, "nodes_falsenodeids", NULL);
    l->yes_leaf = onnx_host_list(n, "nodes_trueleafs", NULL);
    l->no_leaf = onnx_host_list(n, "nodes_falseleafs", NULL);
    l->missing = onnx_host_list(n, "nodes_missing_value_tracks_true", NULL);
    l->roots = onnx_host_list(n, "tree_roots", NULL);
    l->targets = onnx_host_list(n, "leaf_targetids", NULL);
    l->weights = onnx_host_list(n, "", "leaf_weights");
    l->members = onnx_host_list(n, "", "membership_values");
    const uint32_t count = l->features.count;
    if (!count || l->modes.count != count || l->values.count != count || l->yes.count != count ||
        l->no.count != count || l->yes_leaf.count != count || l->no_leaf.count != count ||
        (l->missing.count && l->missing.count != count) || !l->roots.count || l->targets.count != l->weights.count)
        return invalid(c, "the lists of nodes or leaves differ in length");
    return S_OK;
}

/* A leaf is a node behind the others. */
static bool new_child(const struct new_lists *l, const struct host_trees *t, int64_t number, bool leaf, uint32_t *out)
{
    *out = leaf ? l->features.count + (uint32_t)number : (uint32_t)number;
    return in_range(number, leaf ? t->weight_count : l->features.count);
}

static HRESULT new_nodes(struct onnx_host_call *c, const struct new_lists *l, struct host_trees *t)
{
    uint32_t member = 0;
    for (uint32_t i = 0; i < l->features.count; i++) {
        struct host_branch *n = &t->nodes[i];
        const int64_t mode = onnx_host_list_int(&l->modes, i), feature = onnx_host_list_int(&l->features, i);
        if (!in_range(mode, HOST_LEAF) || !in_range(feature, UINT32_MAX) ||
            !new_child(l, t, onnx_host_list_int(&l->yes, i), onnx_host_list_int(&l->yes_leaf, i) != 0, &n->yes) ||
            !new_child(l, t, onnx_host_list_int(&l->no, i), onnx_host_list_int(&l->no_leaf, i) != 0, &n->no))
            return invalid(c, "a mode, a feature, or the number of a node or leaf is out of range");
        n->mode = (uint8_t)mode;
        n->feature = (uint32_t)feature;
        n->value = onnx_host_list_real(&l->values, i);
        n->missing = l->missing.count && onnx_host_list_int(&l->missing, i) == 1;
        n->first = member;
        while (n->mode == HOST_MEMBER && member < t->member_count && !isnan(t->members[member]))
            member++;
        n->end = member;
        member += n->mode == HOST_MEMBER && member < t->member_count; /* NaN ends a set */
    }
    return S_OK;
}

static HRESULT new_fill(struct onnx_host_call *c, const struct new_lists *l, struct host_trees *t)
{
    const int64_t aggregate = onnx_attr_int(c->node, "aggregate_function", HOST_SUM);
    const int64_t post = onnx_attr_int(c->node, "post_transform", HOST_POST_NONE);
    if (!in_range(aggregate, HOST_MAX + 1) || !in_range(post, HOST_POST_PROBIT + 1))
        return invalid(c, "aggregate_function or post_transform is out of range");
    t->aggregate = (enum host_aggregate)aggregate;
    t->post = (enum onnx_host_post)post;
    t->targets = (uint32_t)BASE_MAX(onnx_attr_int(c->node, "n_targets", 1), 0);
    for (uint32_t i = 0; i < t->member_count; i++)
        t->members[i] = onnx_host_list_real(&l->members, i);
    for (uint32_t i = 0; i < t->weight_count; i++) {
        const int64_t target = onnx_host_list_int(&l->targets, i);
        if (!in_range(target, t->targets))
            return invalid(c, "a leaf has a target that does not exist");
        t->weights[i] = (struct host_weight){ (uint32_t)target, onnx_host_list_real(&l->weights, i) };
        t->nodes[l->features.count + i] = (struct host_branch){ .mode = HOST_LEAF, .first = i, .end = i + 1 };
    }
    for (uint32_t i = 0; i < l->roots.count; i++) {
        const int64_t root = onnx_host_list_int(&l->roots, i);
        if (!in_range(root, l->features.count))
            return invalid(c, "a root is not one of the nodes");
        t->roots[t->root_count++] = (uint32_t)root;
    }
    return new_nodes(c, l, t);
}

static HRESULT read_new(struct onnx_host_call *c, struct host_trees **out)
{
    struct new_lists l = { 0 };
    uint32_t count;
    HRESULT hr = new_open(c, &l);
    if (FAILED(hr))
        return hr;
    if (__builtin_add_overflow(l.features.count, l.weights.count, &count))
        return invalid(c, "too many nodes");
    *out = make(count, l.roots.count, l.weights.count, l.members.count);
    return *out ? new_fill(c, &l, *out) : onnx_host_no_memory(c);
}

/* ---- all ---- */

HRESULT onnx_host_trees_read(struct onnx_host_call *c, struct host_trees **out)
{
    *out = NULL;
    HRESULT hr = strcmp(c->node->op, "TreeEnsemble") ? read_old(c, out) : read_new(c, out);
    for (uint32_t i = 0; SUCCEEDED(hr) && i < (*out)->node_count; i++)
        if ((*out)->nodes[i].mode != HOST_LEAF)
            (*out)->features = BASE_MAX((*out)->features, (*out)->nodes[i].feature + 1);
    if (SUCCEEDED(hr) && !(*out)->targets)
        hr = invalid(c, "no targets or classes");
    if (FAILED(hr)) {
        free(*out);
        *out = NULL;
    }
    return hr;
}
