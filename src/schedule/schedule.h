// Schedules: in which order a chain is assembled (Yamane and Nakamura, 5.1), and what that costs.
//
// A tree of joints is cut at some of its edges into *parts*. Each part is assembled joint by joint, by itself, without
// knowing how what it hangs from moves or what hangs from it: W parts at a time in the lanes of one core, and on as many cores
// as there are. Then parts are joined, two at a time, as a binary tree says; a long chain becomes a tree of logarithmic
// height:
//
//     part 0 ─ part 1 ─ part 2 ─ part 3 ─ part 4          ground ─(0 (1)) ((2) (3 4))
//           ▲ a port: the node from which the next part hangs
//
// An *element* is what a join works on: some parts that hang together, seen from the body that they hang from, its base.
// It has *tips* (ports where something is still missing) and, where the model has loops, *rows* (constraints of which one end
// is still missing). Elements are made of
//
//     part      one part; a tip for each of its ports
//     rows      the constraints that act on one port
//     unit      nothing: a tip that is its own base; keeps a port open for one more element
//     below     b hangs from a tip of a
//     beside    a and b hang from the same base (a link that is split, as in Featherstone's divide-and-conquer papers)
//
// so that with one tip a part, or two, and the base, no element has more than three open joints.
#pragma once
#include "model/model.h"
#include "layout/layout.h"

// Rows of constraints that are closed together on the ground; models with more are left to who simulates.
enum { CAL_SCHEDULE_ROWS = 120 };
enum { CAL_SCHEDULE_TIPS = 2, CAL_SCHEDULE_MOST_TIPS = 8 }; // of a part: wanted; where the topology leaves no choice

typedef struct cal_schedule_part {
    int32_t root;      // its first node, in the forest
    int32_t nodes;     // how many
    int32_t base_port; // what it hangs from; -1: the ground
    int32_t first_port, port_count;
    int32_t element;
    double place, assemble; // operations of the passes before and after the bases are known
} cal_schedule_part;

typedef struct cal_port {
    int32_t node;     // in the forest
    int32_t original; // the same in the model
    int32_t part;
} cal_port;

typedef enum cal_element_kind {
    CAL_ELEMENT_PART,
    CAL_ELEMENT_ROWS,
    CAL_ELEMENT_UNIT,
    CAL_ELEMENT_BELOW,
    CAL_ELEMENT_BESIDE
} cal_element_kind;

enum { CAL_JOIN_NUMBERS = 21 }; // what a join leaves for the way back: K, lower rows

typedef struct cal_element {
    int32_t kind;
    int32_t index;  // the part of a part, the port of rows and of a unit
    int32_t a, b;   // the elements that a join joins
    int32_t parent; // the join of which this is a or b; -1: it stands on the ground
    int32_t tip;    // below: which of a's tips
    int32_t tip_count, row_count;
    int32_t columns;                // 6 a tip, then one a row: unknown forces
    int32_t first_tip;              // ports, in cal_schedule.tips
    int32_t first_name, name_count; // constraints, in cal_schedule.names
    int32_t first_map; // in cal_schedule.maps: a's columns as this element's, then b's, -1: joined; then for each own
                       // column a's and b's, -1: none
    int32_t height, processor;        // of the join; who does it
    int32_t crossing;                 // a number for each element whose parent another processor joins; else -1
    bool based;                       // on the ground
    double work;                      // operations of the join and of taking it apart
    size_t numbers, join, tip_motion; // in the state: what assembly computes
    size_t motion, base, force;       // what disassembly does: kinematics of the base, acceleration of it, forces
} cal_element;

// Elements of one processor, height and shape, that are joined together, in the lanes of a core.
typedef struct cal_join_batch {
    int32_t first, count; // in cal_schedule.order
} cal_join_batch;

typedef struct cal_schedule {
    cal_model forest;       // the model with every part's root on the ground; shares what it does not change
    const cal_model* model; // as the user built it
    int32_t* place;         // of each node of the model: its node in the forest
    int32_t* processor;     // of each node of the forest, for machines with several
    int32_t part_count, port_count, element_count, root_count;
    cal_schedule_part* parts;
    cal_port* ports;
    int32_t* port_of_node; // of each node of the forest; -1: none
    cal_element* elements; // joins after what they join
    int32_t* roots;        // elements on the ground: one, or where nothing binds them together, several
    int32_t *tips, *names, *maps;
    bool loops;         // constraints are columns of elements
    int processors;     // that have parts
    int height;         // joins on the longest path
    double joins;       // operations of all of them
    bool split;         // some part has nodes of several processors
    int ground;         // the processor of the rows, and of the system that they become on the ground
    int crossing_count; // elements whose parent another processor joins
    // Made by cal_schedule_arrange.
    int32_t* order;          // elements, processor by processor, by their height
    cal_join_batch* batches; // runs of them, in that order: nothing in a batch needs anything that comes later
    int32_t* first_batch;    // of each processor, and the end
    size_t number_count;     // doubles that elements keep
    size_t batch_doubles;    // scratch of a batch
} cal_schedule;

// How a schedule is wanted: "auto", "serial" (one part a tree), "balanced" (a part a joint), a number of processors, for parts
// of equal work, "even:P", for parts of equal length (what the paper compares with), or "device", for as many processors as a GPU has
// threads.
typedef enum cal_schedule_kind {
    CAL_SCHEDULE_AUTO,
    CAL_SCHEDULE_SERIAL,
    CAL_SCHEDULE_BALANCED,
    CAL_SCHEDULE_PARTS,
    CAL_SCHEDULE_EVEN,
    CAL_SCHEDULE_DEVICE
} cal_schedule_kind;
typedef struct cal_schedule_choice {
    cal_schedule_kind kind;
    int parts;
} cal_schedule_choice;
// CAL_BAD_ARGUMENT when the text is none of these; NULL is "auto".
cal_status cal_schedule_choose(const char* text, cal_schedule_choice* out, cal_error* error);

// What parts cost, in operations a node of one degree of freedom.
typedef struct cal_schedule_costs {
    double link;  // articulated bodies
    double tip;   // for each tip beyond it
    double place; // where it is, before its base is known; parts with tips only
} cal_schedule_costs;
extern const cal_schedule_costs cal_schedule_ours;

cal_status cal_schedule_create(const cal_model* model, cal_schedule_choice choice, cal_schedule** out,
                               cal_error* error);
void cal_schedule_destroy(cal_schedule* schedule); // NULL is allowed

// Who does what (schedule_deal.c). Gives parts to processors, in their order, by equal work.
cal_status cal_schedule_deal(cal_schedule* schedule, int processors);
// Follows what cal_schedule.processor says: a part is its root's; of two elements the one that is ready later has the join.
cal_status cal_schedule_adopt(cal_schedule* schedule);
// The same where memory is not shared: every part becomes its root's processor's, and what rows of couplings read is on one.
cal_status cal_schedule_adopt_parts(cal_schedule* schedule);
// Batches of at most `width` elements, and places for the numbers of those that processor `keep` (or all) needs.
cal_status cal_schedule_arrange(cal_schedule* schedule, int width, int keep);
// Messages of an evaluation, and the doubles in them: at each crossing how tips and bases move, I, p, E, c and Λ, and the
// accelerations and forces that come back.
void cal_schedule_traffic(const cal_schedule* schedule, int64_t* messages, int64_t* doubles);
// Doubles of an element.
CAL_DEVICE static inline size_t cal_element_size(const cal_element* e) {
    const size_t k = (size_t)e->columns;
    return 27 + 7 * k + k * (k + 1) / 2;
}
// Seconds of an evaluation: `operation` s an operation, `message` s where a join needs what another processor has.
double cal_schedule_price(const cal_schedule* schedule, double operation, double message);
// Seconds an operation, where articulated bodies take so many seconds a joint of this model.
double cal_schedule_operation(const cal_schedule* schedule, double compute);
// Operations of everything, on one processor.
double cal_schedule_work(const cal_schedule* schedule);

// The steps of making one, in order.
// Nodes of the model that a constraint acts on; returns how many.
int cal_schedule_touched(const cal_model* model, int constraint, int32_t nodes[8]);
cal_status cal_schedule_make_forest(cal_schedule* schedule, const bool* cut, const bool* port); // forest, parts, ports
cal_status cal_schedule_join(cal_schedule* schedule);                                           // elements

// What a column on the ground reads of each lane's base: how it moves (as from a parent), and how it is accelerated.
enum { CAL_BASE_COUNT = CAL_DOWN_COUNT + 6 };

// Ports in the lanes of a layout of the forest. A column's *slots* are the ports below its nodes, and its own.
typedef struct cal_slot_start {
    int32_t step; // block of a wide column, node of a long one
    int32_t port;
    int8_t row, slot; // row: the lane
} cal_slot_start;
typedef struct cal_slots {
    int32_t count;                    // of the column
    int32_t first_start, start_count; // ports of the column's own nodes, last step first
    size_t table;                     // port of slot s and lane l: at table + s · W + l; -1: none
    size_t pull;                      // slot of its parent that continues slot s of lane l: the same way
    size_t area, answer;              // doubles in the state
} cal_slots;
typedef struct cal_slot_layout {
    cal_slots* columns;
    cal_slot_start* starts;
    int8_t* pulls;
    int32_t *table, *part; // part: of each column on the ground, W lanes
    int32_t* seat;         // of each part: CAL_MAX_LANES · its root's column + lane
    size_t area_size, answer_size;
} cal_slot_layout;
cal_status cal_slots_create(const cal_schedule* schedule, cal_layout* layout, cal_slot_layout** out);
void cal_slots_destroy(cal_slot_layout* slots); // NULL is allowed

// Doubles of a column's area: for each slot 6 columns e (moment, force) and 6 accelerations, then Λ by its lower rows.
CAL_DEVICE static inline size_t cal_area_doubles(int slots) {
    const size_t k = 6 * (size_t)slots;
    return 6 * k + k + k * (k + 1) / 2;
}
CAL_DEVICE static inline size_t cal_packed(size_t i, size_t j) {
    return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}
