// Schedules: where a tree is cut into parts. schedule.h has the picture.
//
// Cuts. Inbound, every node adds itself to the parts that its children left open, and the edge above it is cut when its part
// is full: of work, for a number of processors; of length, where the longest path is what takes time. The work of a node
// is larger where its part has tips, so with equal work parts in the middle of a chain have fewer links than the last one: the
// uneven split of the paper's section 6.1 needs no rule of its own. For a number of processors the least work a part with
// which there are no more parts than that is found by bisection.
//
// A part cannot end in a node that has no inertia of its own against its joint (the massless nodes of a body with several
// joints): there is nothing yet that could be accelerated.
#include "schedule/schedule_bands.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Articulated bodies (pass/aba.c); six columns of forces carried inbound and used outbound; a rotation and what goes with it.
// A link and a place have three operations less than are counted since angles have a bound: cuts, and with them bits, stay where they are.
const cal_schedule_costs cal_schedule_ours = {.link = 564.0, .tip = 258.0, .place = 175.0};

// Below this depth parts would cost more joins than they save; and the longest path of a part. Constants, so that the bits of
// "auto" do not depend on the machine.
enum { SHALLOW = 768, SHORTEST = 192, MOST_ALONG = 512, BISECTIONS = 60, MOST_PARTS = 1 << 24 };

cal_status cal_schedule_choose(const char* text, cal_schedule_choice* out, cal_error* error) {
    *out = (cal_schedule_choice){.kind = CAL_SCHEDULE_AUTO};
    if (!text || strcmp(text, "auto") == 0) return CAL_OK;
    if (strcmp(text, "serial") == 0) {
        out->kind = CAL_SCHEDULE_SERIAL;
    } else if (strcmp(text, "balanced") == 0) {
        out->kind = CAL_SCHEDULE_BALANCED;
    } else if (strcmp(text, "device") == 0) {
        out->kind = CAL_SCHEDULE_DEVICE;
    } else {
        const bool even = strncmp(text, "even:", 5) == 0;
        const char* digits = even ? text + 5 : text;
        char* end = NULL;
        const long parts = digits[0] >= '0' && digits[0] <= '9' ? strtol(digits, &end, 10) : 0;
        if (parts < 1 || parts > MOST_PARTS || *end != '\0')
            return cal_fail(error, CAL_BAD_ARGUMENT,
                            "schedule '%.40s' is not known; there are auto, serial, balanced, device, a number of "
                            "processors, or even:P",
                            text);
        *out = (cal_schedule_choice){even ? CAL_SCHEDULE_EVEN : CAL_SCHEDULE_PARTS, (int)parts};
    }
    return CAL_OK;
}

// --- Cuts ---------------------------------------------------------------------------------------------------------------

int cal_schedule_touched(const cal_model* model, int constraint, int32_t nodes[8]) {
    const cal_constraint_def* def = &model->constraints[constraint];
    int32_t found[4];
    int count = 0, kept = 0;
    for (int i = 0; i < 2; i++) {
        if (def->kind == CAL_COUPLING) {
            if (def->joint[i] < 0) continue;
            const int32_t node = model->joints[def->joint[i]].node;
            found[count++] = node;
            if (model->nodes[node].parent >= 0) found[count++] = model->nodes[node].parent;
        } else if (def->body[i] >= 0 && model->mounts[def->body[i]].node >= 0) {
            found[count++] = model->mounts[def->body[i]].node;
        }
    }
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (int k = 0; k < kept; k++) known = known || nodes[k] == found[i];
        if (!known) nodes[kept++] = found[i];
    }
    return kept;
}

// Whether a second moment gives an inertia against turning about every axis.
static bool resists_turning(const double s[6]) {
    const double xx = s[1] + s[2], yy = s[0] + s[2], zz = s[0] + s[1], size = s[0] + s[1] + s[2];
    const double determinant =
        xx * (yy * zz - s[5] * s[5]) - s[3] * (s[3] * zz + s[5] * s[4]) - s[4] * (s[3] * s[5] + yy * s[4]);
    return size > 0.0 && determinant > 1e-9 * size * size * size;
}

// Whether a node alone, held by what it hangs from, can be accelerated in its body's joints: in the only one, or, where there
// are several or the body is free, in any way.
static bool is_sturdy(const cal_model* model, const cal_node* node) {
    const double* s = node->second_moment;
    if (!(node->mass > 0.0)) return false;
    if (model->bodies[node->body].joint_count == 1) {
        if (node->kind == CAL_REVOLUTE) return s[0] + s[1] > 1e-6 * (s[0] + s[1] + s[2]);
        if (node->kind == CAL_PRISMATIC) return true;
        if (node->kind == CAL_BALL) return resists_turning(s);
    }
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    double central[6];
    for (int i = 0; i < 6; i++) central[i] = s[i] - node->moment[row[i]] * node->moment[column[i]] / node->mass;
    return central[0] + central[1] + central[2] > 1e-9 * (s[0] + s[1] + s[2]) && resists_turning(central);
}

static double node_weight(const cal_node* node) {
    return node->kind == CAL_FREE ? 1.8 : node->kind == CAL_BALL ? 1.6 : 1.0;
}

// What the way inbound knows of the part that a node belongs to.
typedef struct growth {
    double work;
    int32_t length, tips;
} growth;

static double growth_work(const cal_node* node, int tips, const cal_schedule_costs* costs) {
    return node_weight(node) * (costs->link + tips * costs->tip + (tips > 0 ? costs->place : 0.0));
}

static void cut_at(const cal_model* model, const cal_schedule_costs* costs, double work, int length,
                   const bool* touched, growth* parts, bool* cut, bool* port) {
    for (int n = model->node_count - 1; n >= 0; n--) {
        const cal_node* node = &model->nodes[n];
        growth own = {0.0, 0, 0};
        int hanging = 0; // children that are cut off
        for (int c = n + 1; c < node->end; c = model->nodes[c].end) hanging += cut[c];
        for (int c = n + 1; c < node->end; c = model->nodes[c].end)
            if (!cut[c]) own.tips += parts[c].tips;
        // A link that would have too many open joints is split: all that hang from it and have tips share one.
        if (own.tips + (hanging > 0 || touched[n]) > CAL_SCHEDULE_TIPS && is_sturdy(model, node))
            for (int c = n + 1; c < node->end; c = model->nodes[c].end)
                if (!cut[c] && parts[c].tips > 0) {
                    cut[c] = true;
                    own.tips -= parts[c].tips;
                    hanging++;
                }
        for (int c = n + 1; c < node->end; c = model->nodes[c].end) {
            if (cut[c]) continue;
            own.work += parts[c].work;
            if (parts[c].length > own.length) own.length = parts[c].length;
        }
        port[n] = hanging > 0 || touched[n];
        own.tips += port[n];
        own.work += growth_work(node, own.tips, costs);
        own.length++;
        parts[n] = own;
        if (node->parent < 0) continue;
        const cal_node* above = &model->nodes[node->parent];
        cut[n] =
            (own.work + growth_work(above, own.tips, costs) > work || own.length >= length) && is_sturdy(model, above);
    }
}

static int count_parts(const cal_model* model, const bool* cut) {
    int count = 0;
    for (int n = 0; n < model->node_count; n++) count += cut[n] || model->nodes[n].parent < 0;
    return count;
}

static void forget(const cal_model* model, bool* cut) { memset(cut, 0, (size_t)model->node_count * sizeof *cut); }

static void cut_for(const cal_model* model, const cal_schedule_costs* costs, int wanted, const bool* touched,
                    growth* parts, bool* cut, bool* port) {
    double most = 0.0, least = 0.0;
    for (int n = 0; n < model->node_count; n++) most += growth_work(&model->nodes[n], CAL_SCHEDULE_TIPS, costs);
    for (int i = 0; i < BISECTIONS && most - least > 0.5; i++) {
        const double work = 0.5 * (least + most);
        forget(model, cut);
        cut_at(model, costs, work, model->node_count + 1, touched, parts, cut, port);
        if (count_parts(model, cut) > wanted)
            least = work;
        else
            most = work;
    }
    forget(model, cut);
    cut_at(model, costs, most, model->node_count + 1, touched, parts, cut, port);
}

// --- For a device ------------------------------------------------------------------------------------------------------------
//
// A device has a thread for each part and a warp for each join, and the time of an evaluation is
//
//     L · LINK                                                     what is not cut, L its depth
//     l · (PART + w · SHARE) + h · HEIGHT + n · JOIN               n parts of l links, h heights of joins, 2ʰ ≥ L / l
//
// where w warps of 32 parts share a multiprocessor, of which an H200 has 132; more than so many parts come one after the other. In
// nanoseconds, as measured there (`bench forward chain:n=100000` and 1000000 --schedule even:P): a link of a thread that has its
// multiprocessor for itself, in all three walks of parts; what one more warp adds; a height of few joins, up and down, in both walks of
// joins; and what each join adds where they fill a device. (Parts have become faster since, more than joins: with twice as many of them a million links take 70 % longer, with
// half more 24 %.) These are constants: like those of "auto" they make bits, which no computer that runs them may change.
enum { DEVICE_LINK = 2800, DEVICE_PART = 4300, DEVICE_SHARE = 620, DEVICE_HEIGHT = 12600, DEVICE_JOIN = 17 };
enum { DEVICE_LANES = CAL_MULTIPROCESSORS * 32, DEVICE_WARPS = 8 }; // of all multiprocessors, and of each

static double device_price(const cal_model* model, int length) {
    const double nodes = model->node_count;
    if (length >= model->depth) return fmax(model->depth, nodes / (DEVICE_LANES * DEVICE_WARPS)) * DEVICE_LINK;
    const double parts = nodes / length, warps = fmax(1.0, parts / DEVICE_LANES),
                 rounds = fmax(1.0, warps / DEVICE_WARPS);
    int heights = 0;
    for (int64_t joined = length; joined < model->depth; joined *= 2) heights++;
    return length * (rounds * DEVICE_PART + warps * DEVICE_SHARE) + (double)heights * DEVICE_HEIGHT +
           parts * DEVICE_JOIN;
}

// The length of parts; the model's depth: none. Of lengths with as many heights the shortest is best.
static int find_device_length(const cal_model* model) {
    int best = model->depth;
    for (int64_t parts = 2; parts < 2 * (int64_t)model->depth; parts *= 2) {
        const int length = (int)((model->depth + parts - 1) / parts);
        if (device_price(model, length) < device_price(model, best)) best = length;
    }
    return best;
}

// Which edges above nodes of the model are cut, and which nodes are ports.
static cal_status cut_edges(const cal_model* model, cal_schedule_choice choice, bool loops, bool* cut, bool* port) {
    const size_t count = (size_t)model->node_count;
    growth* parts = cal_allocate(count, sizeof *parts);
    bool* touched = cal_allocate(count, sizeof *touched);
    cal_status status = parts && touched ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) {
        const int without = model->node_count + 1;
        for (int c = 0; c < model->constraint_count && loops; c++) {
            int32_t nodes[8];
            const int touching = cal_schedule_touched(model, c, nodes);
            for (int i = 0; i < touching; i++) touched[nodes[i]] = true;
        }
        const cal_schedule_costs even = {.link = cal_schedule_ours.link};
        const int along = (model->depth + MOST_ALONG - 1) / MOST_ALONG;
        switch (choice.kind) {
        case CAL_SCHEDULE_SERIAL:
            cut_at(model, &cal_schedule_ours, (double)INFINITY, without, touched, parts, cut, port);
            break;
        case CAL_SCHEDULE_BALANCED: cut_at(model, &cal_schedule_ours, 0.0, without, touched, parts, cut, port); break;
        case CAL_SCHEDULE_PARTS: cut_for(model, &cal_schedule_ours, choice.parts, touched, parts, cut, port); break;
        case CAL_SCHEDULE_EVEN: cut_for(model, &even, choice.parts, touched, parts, cut, port); break;
        case CAL_SCHEDULE_DEVICE: {
            const int length = find_device_length(model);
            cut_at(model, &cal_schedule_ours, (double)INFINITY, length < model->depth ? length : without, touched,
                   parts, cut, port);
            break;
        }
        default:
            cut_at(model, &cal_schedule_ours, (double)INFINITY,
                   model->depth < SHALLOW ? without
                   : along > SHORTEST     ? along
                                          : SHORTEST,
                   touched, parts, cut, port);
        }
    }
    cal_free(parts);
    cal_free(touched);
    return status;
}

// --- All of it -------------------------------------------------------------------------------------------------------------

static cal_status weigh_parts(cal_schedule* s, cal_error* error) {
    for (int p = 0; p < s->part_count; p++) {
        cal_schedule_part* part = &s->parts[p];
        if (part->port_count > CAL_SCHEDULE_MOST_TIPS)
            return cal_fail(
                error, CAL_BAD_MODEL,
                "assembly: %d of the bodies that hang together with '%s' carry loops or further parts, and those "
                "without inertia of their own between them cannot be separated; at most %d, use aba",
                part->port_count, s->forest.name, CAL_SCHEDULE_MOST_TIPS);
        // Each tip costs on the way from its port to the root only.
        for (int n = part->root; n < part->root + part->nodes; n++)
            part->assemble += node_weight(&s->forest.nodes[n]) * cal_schedule_ours.link;
        for (int i = 0; i < part->port_count; i++)
            for (int n = s->ports[part->first_port + i].node; n >= 0; n = s->forest.nodes[n].parent) {
                part->assemble += node_weight(&s->forest.nodes[n]) * cal_schedule_ours.tip;
                if (i == 0) part->place += node_weight(&s->forest.nodes[n]) * cal_schedule_ours.place;
            }
    }
    return CAL_OK;
}

cal_status cal_schedule_create(const cal_model* model, cal_schedule_choice choice, cal_schedule** out,
                               cal_error* error) {
    *out = NULL;
    cal_schedule* schedule = cal_allocate(1, sizeof *schedule);
    bool* cut = cal_allocate((size_t)model->node_count, sizeof *cut);
    bool* port = cal_allocate((size_t)model->node_count, sizeof *port);
    cal_status status = schedule && cut && port ? CAL_OK : CAL_NO_MEMORY;
    if (status == CAL_OK) {
        schedule->model = model;
        int rows = 0;
        for (int c = 0; c < model->constraint_count && rows <= CAL_SCHEDULE_ROWS; c++)
            rows += cal_constraint_rows(&model->constraints[c], NULL);
        schedule->loops = rows > 0 && rows <= CAL_SCHEDULE_ROWS;
        status = cut_edges(model, choice, schedule->loops, cut, port);
    }
    if (status == CAL_OK) status = cal_schedule_make_forest(schedule, cut, port);
    if (status == CAL_OK) status = weigh_parts(schedule, error);
    if (status == CAL_OK) status = cal_schedule_join(schedule);
    if (status == CAL_OK) status = cal_schedule_deal(schedule, 1);
    cal_free(cut);
    cal_free(port);
    if (status != CAL_OK) {
        cal_schedule_destroy(schedule);
        return status == CAL_NO_MEMORY
                   ? cal_fail(error, status, "no memory for a schedule of %d joints", model->joint_count)
                   : status;
    }
    *out = schedule;
    return CAL_OK;
}

void cal_schedule_destroy(cal_schedule* s) {
    if (!s) return;
    void* arrays[] = {s->forest.nodes, s->forest.mounts, s->forest.joints, s->place,      s->processor, s->parts,
                      s->ports,        s->port_of_node,  s->elements,      s->roots,      s->tips,      s->names,
                      s->maps,         s->order,         s->batches,       s->first_batch};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) cal_free(arrays[i]);
    cal_free(s);
}

double cal_schedule_operation(const cal_schedule* s, double compute) {
    double work = 0.0;
    for (int n = 0; n < s->forest.node_count; n++) work += node_weight(&s->forest.nodes[n]) * cal_schedule_ours.link;
    return compute * s->forest.node_count / work;
}

double cal_schedule_work(const cal_schedule* s) {
    double work = s->joins;
    for (int p = 0; p < s->part_count; p++) work += s->parts[p].place + s->parts[p].assemble;
    return work;
}
