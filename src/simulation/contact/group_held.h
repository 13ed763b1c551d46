// Contacts that are held in a smooth step (group_smooth.h): their rows, and the motion and the forces with them (group_held.c). What is found by
// indices `held` are those of s->held; rows are in their order, one of what slides or is a stop, three of what sticks.
#pragma once
#include "simulation/contact/group_smooth.h"

static inline bool cal_held_rests(const cal_smooth* s, int unit) { return s->rests != NULL && s->rests[unit]; }
int cal_held_row_count(const cal_smooth* s);

// Fills the problem at (q, v) and finds the contacts in it.
cal_status cal_held_fill(cal_smooth* s, double time, const double* q, const double* v, cal_error* error);
// The contact as it was found when the problem was filled; NULL: it is not there.
cal_contact_row* cal_held_row(const cal_smooth* s, int held);

// What a contact's points do for velocities x of the units (J x, whatever constraints allow), with what driven bodies add where all of it is moving.
void cal_held_speeds(const cal_smooth* s, const cal_contact_row* touch, const double* x, bool moving, double y[3]);
// Speeds of the constraints at q for velocities x; false: a contact is not there.
bool cal_held_read(const cal_smooth* s, const double* x, bool moving, double* out);
// Forces that give the constraints' speeds (or accelerations) the change in s->right; x += M⁻¹ J̃ᵀ λ. False: a contact would pull, or
// would not stick; checked where `checks`.
bool cal_held_push(cal_smooth* s, const double* v, bool checks, double* x);

// All units from q along v for a time h.
cal_status cal_held_displace(const cal_smooth* s, double time, const double* q, const double* v, double h, double* out,
                             cal_error* error);
// dv/dt at (q, v), in a step of size h; *ok false: the contacts do not go on as they did.
cal_status cal_held_accelerate(cal_smooth* s, double time, const double* q, const double* v, double step, double* out,
                               double* power, bool* ok, cal_error* error);

// The contact that would pull most is not held; false: none would.
bool cal_held_let_go(cal_smooth* s);
// The contact that would need most friction beyond its limit slides; false: none would. Where it begins to, it does so against the friction that it
// would need: what solutions of the first order say of sticking is not right where something rolls, since they know nothing of J̇ v.
bool cal_held_let_slide(cal_smooth* s);
