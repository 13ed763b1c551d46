// Forward dynamics by assembly and disassembly (Yamane and Nakamura; Featherstone's divide-and-conquer papers).
//
// A chain is cut into subchains, each is assembled without knowing the others, and then they are joined two by two: a long
// chain, which gives articulated bodies no breadth, becomes a tree of logarithmic height (schedule/schedule.h). Two passes go over
// that tree: assembly inbound, disassembly outbound.
//
// Notation. World's axes; motions (δα, δa) and forces (moment, force) about the origin of the node that they are of.
// Accelerations count from those at q̈ = 0, as in aba_body.h, so that no velocity product is left: the paper's j, h and c
// are in the forces p. What hangs from a body, its *base*, with unknown forces λ on k of its columns (six for each port
// where something is still missing), has
//
//     force that the base must apply        f = I a + p − E λ            a: the base's acceleration              (A)
//     accelerations of the columns          x = Eᵀ a + c + Λ λ           Λ = Λᵀ: the paper's, base held          (B)
//
// The paper keeps, of a subchain, the accelerations of all open joints for the forces on all of them, its Λ and r̈. (A) and
// (B) are the same numbers, solved for the force instead of the acceleration at one of the open joints, the one next to the
// ground. That needs no inverse of any inertia: links may be massless, joints have 0 to 6 degrees of freedom without a choice
// of constraint axes K_C, and the joint's own force, armature, springs and motors are where articulated bodies have them.
// One sign for all: a force acts on what its column names, and its opposite on what causes it.
//
// 1. Assembly of one part (the paper's serial order, one joint after the other, tip to base): Jung's equations (2), (3)
//    for I and p. A force e λ on the node, with σ = sᵀ e, changes u by σ λ, and so
//
//        q̈ = D⁻¹ u − gᵀ a_parent + ∑ η λ,   η = D⁻¹ σ,   g = D⁻¹ U             kept: g, D⁻¹u, η
//        e ← e − U D⁻¹ σ, moved to the parent's origin;   Λ_kl += σ_k η_l;   c_k += σ_k D⁻¹ u
//
//    The last two are (B) unrolled: e_kᵀ a_node = e_k′ᵀ a_parent + σ_k (D⁻¹ u + ∑ η λ). W parts at a time, in lanes.
//
// 2. Assembly of two subchains, b below a tip t of a: a's λ_t = w is the opposite of b's force, a's x_t is b's base. With
//    J = (1 + I_b Λ_tt)⁻¹ I_b, symmetric, (36) of the paper is
//
//        w = −J (y − Λ_tt b) − b,   y = E_tᵀ a + c_t + Λ_to λ_o,   b = p_b − E_b λ_b,   x_t = y + Λ_tt w
//
//    and (37)–(50) are what is left when w is put into (A) and (B). 1 + I_b Λ_tt has eigenvalues of 1 and more, whatever the
//    ranks of I_b (6 less the degrees of freedom of b's joint) and Λ_tt (a's): it is the paper's P = Λ_A + Λ_B with I_b for
//    Λ_B⁻¹, and J is its K_Cᵀ Γ⁻¹ K_C. Beside each other: I, p add up, and columns are put together.
//
// 3. The ground is the last base: a = 0. Rows of loops (assembly_loops.c) are columns whose x must come to a given value.
//
// 4. Disassembly: w and x_t above, join by join (51), (52); then each part outbound as articulated bodies, with the
//    forces on its ports: (53) is q̈ above.
//
// Where things are. α and a at q̈ = 0 need the motion of what a part hangs from, and a chain gives no breadth for that
// either. So before all else each part finds how its ports move as seen from its base, and those are composed along the
// same joins:  E = E_b E_r,  ω = ω_b + ω_r,  α = α_b + α_r + ω_b × ω_r,  a = a_b + α_b × r + ω_b × (ω_b × r + 2 v_r) + a_r.
//
// Three walks of the parts with two of the tree of joins between them; without a cut there are two walks and no joins:
// articulated bodies.
//
//     place  outbound   how ports move as seen from bases        a solver's preparation rides here, or in the next
//            joins      how bases move
//     1      outbound   velocities, and forces they ask for      aba's own kernel
//     2      inbound    (A), (B) of parts
//            joins      assembly, ground, disassembly
//     3      outbound   accelerations
//     4      inbound    the solver's sums
#include "pass/assembly.h"
#include "pass/aba.h"
#include "pass/assembly_elements.h"

// --- Kinematics along the joins ---------------------------------------------------------------------------------------------

static void find_tips_of_batch(const cal_context* context, int batch) {
    const cal_schedule* s = cal_assembly_of(context)->schedule;
    const cal_join_batch* own = &s->batches[batch];
    cal_compose_room room;
    for (int i = own->first; i < own->first + own->count; i++)
        find_tips(cal_assembly_of(context), &s->elements[s->order[i]], &room);
}

static void find_bases_of_batch(const cal_context* context, int batch) {
    const cal_schedule* s = cal_assembly_of(context)->schedule;
    const cal_join_batch* own = &s->batches[batch];
    cal_compose_room room;
    for (int i = own->first; i < own->first + own->count; i++) {
        const cal_element* e = &s->elements[s->order[i]];
        if (e->parent < 0 && e->name_count > 0) cal_loops_begin(context);
        if (e->parent < 0) stand_on_ground(context, e);
        if (e->kind == CAL_ELEMENT_ROWS) cal_loops_place(context, e);
        pass_motion(context, e, &room);
    }
}

// --- Assembly and disassembly ------------------------------------------------------------------------------------------------

static void begin_element(const cal_context* context, int index) {
    const cal_element* e = &cal_assembly_of(context)->schedule->elements[index];
    if (e->kind == CAL_ELEMENT_ROWS) cal_loops_fill(context, index);
    if (e->kind == CAL_ELEMENT_UNIT) fill_unit(cal_assembly_of(context), e);
}

// The ground holds the base, and rows are what is left open.
static void close_loops(const cal_context* context, int root) {
    const cal_assembly* assembly = cal_assembly_of(context);
    const cal_element* e = &assembly->schedule->elements[root];
    hold_base(assembly, e);
    if (e->columns > 0) cal_loops_solve(context, root);
}

bool cal_assembly_begin_batch(const cal_context* context, int batch, bool outbound) {
    const cal_schedule* s = cal_assembly_of(context)->schedule;
    const cal_join_batch* own = &s->batches[batch];
    const int kind = s->elements[s->order[own->first]].kind;
    for (int i = own->first; i < own->first + own->count; i++) {
        const cal_element* e = &s->elements[s->order[i]];
        if (!outbound) begin_element(context, s->order[i]); // parts are there, by their kernel
        if (outbound && e->parent < 0) close_loops(context, s->order[i]);
        if (outbound && kind == CAL_ELEMENT_PART)
            give_forces(context, e, cal_assembly_of(context)->numbers + e->base,
                        cal_assembly_of(context)->numbers + e->force);
    }
    return kind == CAL_ELEMENT_BELOW || kind == CAL_ELEMENT_BESIDE;
}

// --- The program -------------------------------------------------------------------------------------------------------------

#define EVERY_VARIANT(kernel)                                                                                          \
    { kernel, kernel, kernel, kernel, kernel }

static const cal_pass passes[] = {
    {.name = "assembly.place",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_assembly_place),
     .for_own_tree = true,
     .crosses = 24,
     .cost = {.flops = 178, .bytes = 8 * (23 + 2)}},
    {.name = "assembly.tips",
     .tree = CAL_TREE_OWN,
     .direction = CAL_INBOUND,
     .kernels = EVERY_VARIANT(find_tips_of_batch),
     .crossing = cal_assembly_carry_tips},
    {.name = "assembly.bases",
     .tree = CAL_TREE_OWN,
     .direction = CAL_OUTBOUND,
     .kernels = EVERY_VARIANT(find_bases_of_batch),
     .crossing = cal_assembly_carry_base},
    {.name = "assembly.velocity",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_aba_velocity),
     .crosses = CAL_DOWN_COUNT,
     .cost = {.flops = 310, .bytes = 8 * (23 + 2 + 6)}},
    {.name = "assembly.inertia",
     .direction = CAL_INBOUND,
     .kernels = CAL_VARIANTS_OF(cal_assembly_inertia),
     .pulls = CAL_VARIANTS_OF(cal_assembly_pull),
     .crosses = CAL_UP_COUNT,
     .cost = {.flops = 473, .bytes = 8 * (2 + 6 + 1 + 7 + 6)}},
    {.name = "assembly.join",
     .tree = CAL_TREE_OWN,
     .direction = CAL_INBOUND,
     .kernels = CAL_VARIANTS_OF(cal_join_inbound),
     .crossing = cal_assembly_carry_element},
    {.name = "assembly.part",
     .tree = CAL_TREE_OWN,
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_join_outbound),
     .crossing = cal_assembly_carry_forces},
    {.name = "assembly.acceleration",
     .direction = CAL_OUTBOUND,
     .kernels = CAL_VARIANTS_OF(cal_assembly_acceleration),
     .crosses = 6,
     .cost = {.flops = 42, .bytes = 8 * (13 + 6 + 1 + 2)}},
    CAL_SUMS_PASS,
};

const cal_program cal_program_assembly = {
    .name = "assembly",
    .help = "forward dynamics by assembly and disassembly: parts of a chain at the same time, then joined",
    .walked = true,
    .solves = true,
    .record = cal_aba_record,
    .fields = 1u << CAL_Q | 1u << CAL_V | 1u << CAL_TAU | 1u << CAL_QDD | 1u << CAL_CONTROL,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .arrangement = &cal_assembly_arrangement,
};
