// What a program adds to plans and states, where its passes need more than the columns of the model: another model in its place
// (a forest of its parts), a second tree, numbers of its own. Plans, states and machines know it only by this table.
#pragma once
#include "pass/pass.h"

// How constraints are held, where the model has some.
typedef struct cal_hold {
    bool held;           // else constraints are not there; those that are defined as inactive never are
    double error, speed; // φ̈ = −error φ − speed φ̇, and of rows on velocities ψ̇ = −speed ψ
} cal_hold;

typedef struct cal_arrangement {
    const cal_arrangement_ops* ops;
    const cal_model* model; // what is laid out in the place of the user's; the same joints, coordinates, bodies
    cal_tree tree;          // CAL_TREE_OWN; without steps all passes over it, and for it, are left out
    size_t state_size;      // doubles of a state, known when it is fitted
    bool divided;           // it chooses processors itself, unless the user does
    bool constrains;        // an execution may leave a constraint unmet (cal_context.unmet)
} cal_arrangement;

// What it is dealt to: processors of so many lanes; keep: as cal_layout.keep.
typedef struct cal_team {
    int processors, lanes, keep;
} cal_team;

struct cal_arrangement_ops {
    const char* on_device; // what to ask for where the machine is a device and the user has said nothing
    // how: the user's words for it; NULL: the program's own choice.
    cal_status (*create)(const cal_model* model, const char* how, cal_arrangement** out, cal_error* error);
    void (*destroy)(cal_arrangement* arrangement); // NULL is allowed
    // Who does what. wanted: of each node of the user's model, or NULL; owners: of each node of its own, or NULL where there is
    // one processor.
    cal_status (*deal)(cal_arrangement* arrangement, const cal_team* team, const int32_t* wanted, int32_t* owners);
    // Places what it needs in the layout of its model, and writes the steps of its tree.
    cal_status (*fit)(cal_arrangement* arrangement, cal_layout* layout, const cal_team* team);
    // Seconds of an evaluation; negative: what articulated bodies take.
    double (*price)(const cal_arrangement* arrangement, const cal_costs* costs);
    // Makes context->own in the state's memory, and takes down what it has elsewhere.
    cal_status (*begin)(const cal_arrangement* arrangement, cal_context* context, double* memory);
    void (*end)(cal_context* context);
    // From now on; false: this program, or this model, has no constraints that it could hold.
    bool (*hold)(const cal_context* context, const cal_hold* how);
};

// Lays arrays one after the other in one block, each on a cache line of its own and off the others' 4 KiB phase.
static inline size_t cal_reserve(size_t* total, size_t doubles) {
    const size_t first = *total;
    *total = first + ((doubles + 7) / 8 + 3) * 8;
    return first;
}
