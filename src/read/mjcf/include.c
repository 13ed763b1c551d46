// Puts the children of an included file's root in the place of its <include>.
//
// Names of files are relative to the folder of the model's main file, as in MuJoCo; what is not there is looked for beside the
// file that asked. A file that (directly or not) includes itself would never end: the chain of files that led to
// an element is known from its node's file name, and is checked.
#include "base/memory.h"
#include "read/mjcf/mjcf.h"
#include <string.h>

enum { DEEPEST_INCLUDE = 50 };

// Which file an element came from, and who asked for that one.
typedef struct origin {
    const char* path;
    int asked_by, depth; // number of another; -1: the main file
} origin;

typedef struct including {
    mjcf_source* source;
    mjcf_list origins;
} including;

static cal_status load(including* in, int asking, cal_xml_node* node, int* number, cal_xml_node** root,
                       cal_error* error) {
    mjcf_model* model = in->source->model;
    const origin asker = ((origin*)in->origins.items)[asking];
    char path[CAL_PATH];
    const char* file = cal_xml_text(node, "file");
    if (file == NULL) return cal_xml_fail(node, error, CAL_BAD_MODEL, "it names no file");
    MJCF_TRY(mjcf_resolve_file(in->source, "", file, node, path, error));
    for (int i = asking; i >= 0; i = ((origin*)in->origins.items)[i].asked_by)
        if (strcmp(((origin*)in->origins.items)[i].path, path) == 0)
            return cal_xml_fail(node, error, CAL_BAD_MODEL, "the file '%.100s' includes itself", path);
    if (asker.depth >= DEEPEST_INCLUDE)
        return cal_xml_fail(node, error, CAL_BAD_MODEL, "too many files include each other");
    char* bytes;
    size_t size;
    MJCF_TRY(cal_file_read(path, CAL_XML_LARGEST, node, &bytes, &size, error));
    cal_xml_document* document = NULL;
    cal_status status = mjcf_count_file(model, size, node, error);
    if (status == CAL_OK) status = cal_xml_parse(bytes, size, path, &document, error);
    cal_free(bytes);
    MJCF_TRY(status);
    cal_xml_document** kept = mjcf_add(&model->documents, sizeof(cal_xml_document*));
    if (kept == NULL) {
        cal_xml_destroy(document);
        return mjcf_no_memory(node, error);
    }
    *kept = document;
    *root = cal_xml_root(document);
    origin* here = mjcf_add(&in->origins, sizeof *here);
    if (here == NULL) return mjcf_no_memory(node, error);
    *here = (origin){(*root)->file, asking, asker.depth + 1};
    *number = in->origins.count - 1;
    return CAL_OK;
}

// Puts the children of `root` between `before` (NULL: first) and include->next; returns the first of them, or what follows.
static cal_xml_node* splice(cal_xml_node* parent, cal_xml_node* before, cal_xml_node* include, cal_xml_node* root) {
    cal_xml_node* after = include->next;
    if (root == NULL) return after;
    for (cal_xml_node* child = root->first; child != NULL; child = child->next) child->parent = parent;
    cal_xml_node* first = root->first != NULL ? root->first : after;
    if (root->last != NULL) root->last->next = after;
    if (before == NULL)
        parent->first = first;
    else
        before->next = first;
    if (after == NULL) parent->last = root->last != NULL ? root->last : before;
    return first;
}

static int origin_of(const including* in, const cal_xml_node* node) {
    const origin* origins = in->origins.items;
    for (int i = in->origins.count - 1; i > 0; i--)
        if (origins[i].path == node->file) return i; // every document has its own copy of its name
    return 0;
}

static cal_status expand(including* in, cal_error* error) {
    cal_xml_node* node = in->source->root;
    cal_xml_node* before = NULL; // the sibling before node
    while (node != NULL) {
        if (cal_xml_is(node, "include") && node->parent != NULL) {
            cal_xml_node* root = NULL;
            int number;
            MJCF_TRY(load(in, origin_of(in, node), node, &number, &root, error));
            cal_xml_node* parent = node->parent;
            node = splice(parent, before, node, root);
            if (node != NULL) continue;
            node = parent; // nothing is left here: go up
        } else if (node->first != NULL) {
            before = NULL;
            node = node->first;
            continue;
        }
        while (node != NULL && node->next == NULL) node = node == in->source->root ? NULL : node->parent;
        before = node;
        node = node == in->source->root || node == NULL ? NULL : node->next;
    }
    return CAL_OK;
}

cal_status mjcf_include(mjcf_source* source, cal_error* error) {
    including in = {.source = source};
    origin* first = mjcf_add(&in.origins, sizeof *first);
    cal_status status;
    if (first == NULL) {
        status = mjcf_no_memory(source->root, error);
    } else {
        *first = (origin){source->root->file, -1, 0};
        status = expand(&in, error);
    }
    mjcf_list_free(&in.origins);
    return status;
}
