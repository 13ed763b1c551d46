// Constraints of a batch's instances in a device's memory (held.h): what all share goes there as one piece, with its addresses.
#include "base/error.h"
#include "base/memory.h"
#include "constraint/constraint_parts.h"
#include "cuda/device_held.h"
#include "cuda/held.h"
#include <stddef.h>
#include <string.h>

// A piece of memory that is filled twice: first to know how large it is, and then for good, when it is known where it will be.
typedef struct piece {
    char *bytes, *device; // NULL: the first time
    size_t size;
} piece;

static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

// Returns where they will be.
static void* put(piece* p, const void* from, size_t bytes) {
    const size_t at = p->size;
    p->size += round_up(bytes + 1);
    if (!p->bytes) return NULL;
    if (from && bytes > 0) memcpy(p->bytes + at, from, bytes);
    return p->device + at;
}

static void put_address(void* owner, size_t field, const void* address) {
    memcpy((char*)owner + field, &address, sizeof address);
}

// The model as constraints read it.
static const cal_model* put_model(piece* p, const cal_model* model) {
    cal_model copy = {.node_count = model->node_count,
                      .joint_count = model->joint_count,
                      .constraint_count = model->constraint_count,
                      .q_count = model->q_count,
                      .v_count = model->v_count};
    const size_t joints = (size_t)model->joint_count;
    memcpy(copy.gravity, model->gravity, sizeof copy.gravity);
    copy.nodes = put(p, model->nodes, (size_t)model->node_count * sizeof *model->nodes);
    copy.constraints = put(p, model->constraints, (size_t)model->constraint_count * sizeof *model->constraints);
    cal_joint_def* defs = put(p, model->joint_defs, (size_t)model->joint_def_count * sizeof *model->joint_defs);
    const size_t at = p->size;
    copy.joints = put(p, model->joints, joints * sizeof *model->joints);
    for (size_t i = 0; p->bytes && i < joints; i++) {
        cal_joint* joint = (cal_joint*)(void*)(p->bytes + at) + i;
        joint->def = defs + (model->joints[i].def - model->joint_defs);
    }
    return put(p, &copy, sizeof copy);
}

static cal_joint_path* put_paths(piece* p, const cal_constraints* set) {
    const size_t at = p->size;
    cal_joint_path* out = put(p, set->paths, (size_t)set->path_count * sizeof *set->paths);
    for (int i = 0; i < set->path_count; i++) {
        const cal_joint_path* path = &set->paths[i];
        const size_t lanes = (size_t)path->steps * CAL_JOINT_PATH_LANES;
        cal_joint_path copy = *path;
        copy.constants = put(p, path->constants, lanes * CAL_JOINT_PATH_CONSTANTS * sizeof(double));
        copy.masses = put(p, path->masses, lanes * CAL_JOINT_PATH_MASSES * sizeof(double));
        copy.q = put(p, path->q, lanes * sizeof *path->q);
        copy.v = put(p, path->v, lanes * sizeof *path->v);
        if (p->bytes) memcpy(p->bytes + at + (size_t)i * sizeof copy, &copy, sizeof copy);
    }
    return out;
}

enum { LINKS = CAL_CONSTRAINT_PARTS + 8 };
typedef struct linking {
    cal_held_link links[LINKS];
    int count;
    size_t size; // of an instance
} linking;

static void link_to(linking* l, size_t field, size_t at) { l->links[l->count++] = (cal_held_link){field, at}; }
static void add_own(linking* l, size_t field, size_t bytes) {
    link_to(l, field, l->size);
    l->size += (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

// Own arrays of an instance, and shared ones into the image.
static void put_parts(piece* p, const cal_constraints* set, linking* l, cal_held* image) {
    cal_constraint_part parts[CAL_CONSTRAINT_PARTS];
    const int count = cal_constraints_list_parts(set, parts);
    const size_t numbers = ((size_t)set->model->q_count + (size_t)set->model->v_count) * sizeof(double);
    *l = (linking){.size = round_up(sizeof(cal_held))};
    for (int i = 0; i < count; i++) {
        const size_t field = offsetof(cal_held, set) + parts[i].field;
        void* from;
        memcpy(&from, (const char*)set + parts[i].field, sizeof from);
        if (parts[i].own) {
            if (parts[i].field == offsetof(cal_constraints, motions))
                link_to(l, offsetof(cal_held, set.tree.motions), l->size);
            add_own(l, field, parts[i].bytes);
        } else if (parts[i].field == offsetof(cal_constraints, paths)) {
            put_address(image, field, put_paths(p, set));
        } else {
            put_address(image, field, put(p, from, parts[i].bytes));
        }
    }
    add_own(l, offsetof(cal_held, now), numbers);
    add_own(l, offsetof(cal_held, raw), numbers);
    add_own(l, offsetof(cal_held, room), numbers);
    l->size = round_up(l->size);
}

// The image, whose own memory is `out`; returns where it will be.
static const cal_held_image* put_image(piece* p, const cal_constraints* set, const cal_held_image* given, linking* l) {
    cal_held_image image = *given;
    image.held = (cal_held){.set = *set};
    put_parts(p, set, l, &image.held);
    cal_constraints* own = &image.held.set;
    own->tree.model = own->rounding.model = own->model = put_model(p, set->model);
    own->machine = own->aba_machine = NULL, own->plan = own->aba_plan = own->aba_first = own->aba_last = NULL;
    own->state = own->aba_state = NULL;
    // What stays on the host is not there: that a kernel asks for it is found where one plays the device, too.
    own->workers = (cal_workers){.count = 1};
    own->chains_of_worker = NULL, own->limbs = (cal_limbs){0};
    own->reach = own->far_reach = own->root = own->root_count = own->met_start = own->met = own->row_of = NULL;
    own->user_start = own->user = own->user_at = own->shape = own->filling = NULL;
    own->shapes = NULL, own->packs = NULL, own->loop_factor = NULL, own->factored_q = NULL, own->covers = NULL;
    own->given = own->within = own->tree.given = own->tree.listed = NULL;
    own->tree.added = own->tree.resisting = NULL, own->tree.motions = NULL, own->riding_along = NULL;
    own->riders = (cal_riders){.column = -1};
    image.links = put(p, l->links, (size_t)l->count * sizeof *l->links);
    image.link_count = l->count;
    return put(p, &image, sizeof image);
}

cal_status cal_device_held_create(cal_device* device, cal_device_memory_list* memory, cal_device_work* work,
                                  const cal_constraints* set, const cal_held_image* given) {
    linking links;
    piece p = {0};
    (void)put_image(&p, set, given, &links);
    char* bytes = cal_allocate(p.size, 1);
    char* there = cal_device_take(device, memory, p.size);
    if (!bytes || !there) {
        cal_free(bytes);
        return CAL_NO_MEMORY;
    }
    p = (piece){bytes, there, 0};
    work->image = put_image(&p, set, given, &links);
    cal_device_write(device, there, bytes, p.size);
    cal_status status = cal_device_wait(device);
    cal_free(bytes);
    work->held_stride = links.size;
    work->held = cal_device_take(device, memory, links.size * (size_t)work->groups * CAL_DEVICE_LANES);
    if (!status && !work->held) status = CAL_NO_MEMORY;
    return status;
}
