// What a world has: bodies and multibodies come and go, at times at which everything before is final.
//
//     new      it was added (adding.c): a definition, and nothing else
//     begun    an advance has taken it in (start.c): it has a component with a state, a geometry, a box, pairs, events
//     removed  (removing.c) its place is used again, by another generation
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"
#include "simulation/body.h"

struct cal_multibody;

// Poses of the bodies in the first places; of what was removed: at the origin.
cal_status cal_world_first_poses(const cal_world* world, int count, double* poses);

// --- Ids ------------------------------------------------------------------------------------------------------------------

bool cal_is_body(const cal_world* world, cal_body_id id);
cal_status cal_check_body(const cal_world* world, cal_body_id id, cal_error* error);
// The multibody of an id; NULL: there is none.
struct cal_multibody* cal_find_multibody(const cal_world* world, cal_multibody_id id);
cal_multibody_id cal_multibody_id_of(const cal_world* world, int index);
// Refuses what would change a world that failed, or that waits for a callback.
cal_status cal_check_usable(const cal_world* world, cal_error* error);
// The same, and makes a world whole that is divided (domain/domain.h).
cal_status cal_check_changeable(cal_world* world, cal_error* error);

// --- Places ---------------------------------------------------------------------------------------------------------------

// The first of so many places that follow each other and are not in use; behind the last one there are as many as needed.
int cal_find_places(cal_world* world, int count);
// A new body in such a place.
cal_status cal_body_add_at(cal_world* world, int place, const cal_world_body_def* def, cal_error* error);
// Frees what belongs to a body that no component, pair or event knows any more; its place may be used again.
void cal_body_free(cal_world* world, int body);
void cal_body_free_shapes(cal_sim_body* part); // of one of those that have them
void cal_multibody_free(cal_world* world, int index);
// Adds the bodies, multibodies and callbacks that one world has and another one has not, in the same places; their states are
// those of a start. The two are worlds of one model.
cal_status cal_members_copy(cal_world* world, const cal_world* from, cal_error* error);

// --- Coming and going ---------------------------------------------------------------------------------------------------------

// Takes in what is new. On an error that leaves the world as it was, new bodies are still new.
cal_status cal_world_admit(cal_world* world, cal_error* error);
// Gives everything that is new a component and a state, but no boxes, pairs and events.
cal_status cal_world_prepare_new(cal_world* world, cal_error* error);
// What is slow goes by the sizes of the bodies that there are; whether that is another number than before.
bool cal_world_set_speeds(cal_world* world);
// How often groups are checked: as at the start, and more often where smaller bodies have come since.
void cal_world_set_rate(cal_world* world);
void cal_world_set_window(cal_world* world); // and what follows from it
// Of group checks per second, where the user does not say.
#define CAL_MOST_CHECKS 100.0
#define CAL_LEAST_CHECKS 1e-12
// Everything that moves begins anew at the world's time.
cal_status cal_world_begin_all(cal_world* world, cal_error* error);
// Of contact groups that are awake alone, after what is new has come, or what is removed has left them: what they decide before a step, such as who joins, is decided
// anew after a rollback, and at times before this one what is new was not there, and what is gone was. Their changes are settled by the caller.
cal_status cal_world_begin_groups(cal_world* world, cal_error* error);
// Ends the pairs, boxes, events and the component of a body that has begun, or was about to: what it is made of stays.
void cal_body_withdraw(cal_world* world, int body);
void cal_component_remove(cal_world* world, int component);
void cal_periodic_hook_remove(cal_world* world, int hook);
void cal_collision_hooks_remove(cal_world* world, int body);
void cal_world_count_bodies(cal_world* world); // into the report
