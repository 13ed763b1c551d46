// Snapshots, restoring them, and forks; see snapshot.h.
#include "simulation/snapshot.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/model.h"
#include "simulation/domain/domain.h"
#include "simulation/members.h"
#include "simulation/sim.h"
#include "simulation/state/image.h"
#include "simulation/state/world_image.h"
#include "simulation/world.h"
#include "solver/system_data.h"
#include <stdio.h>
#include <string.h>

enum { TEXT = 32, WORD = 8 };
// The letters of a word, as a file has them.
#define EVENTS UINT64_C(0x53544e4556454c43) // "CLEVENTS"
#define SYSTEM UINT64_C(0x4d45545359534c43) // "CLSYSTEM"

// Raised where a state or an image has its numbers in other places than before: what was written then is no state now, though its sizes fit.
enum { FORMAT = 7 };

typedef struct head {
    uint64_t kind;
    int64_t words;
    char version[TEXT];
    int64_t bodies, moving; // of the model
    uint64_t model, settings;
} head;
_Static_assert(sizeof(head) % WORD == 0, "words are moved whole");

bool cal_snapshot_has_events(uint64_t word) { return word == EVENTS; }

// --- What a snapshot belongs to ---------------------------------------------------------------------------------------------------

// The memory of a system depends on how its numbers lie.
static uint64_t hash_system(const cal_system* system) {
    const cal_solver_settings* s = &system->settings;
    const cal_layout* layout = system->plan->layout;
    const double numbers[] = {s->relative,
                              s->absolute,
                              s->step,
                              s->largest_step,
                              s->largest_order,
                              system->def.slow_band,
                              system->law,
                              system->projects,
                              system->def.gain,
                              layout->width,
                              layout->keep,
                              (double)layout->y_size,
                              (double)system->stride,
                              (double)system->plan->record_size};
    const char* const names[] = {system->def.solver, system->plan->program->name, system->schedule,
                                 system->minimal != NULL ? "minimal" : "lagrange"};
    uint64_t hash = cal_hash_doubles(CAL_HASH_START, numbers, sizeof numbers / sizeof numbers[0]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        hash = cal_hash_bytes(hash, names[i], strlen(names[i]) + 1);
    return cal_hash_bytes(hash, layout->block_nodes,
                          (size_t)(layout->block_count * layout->width) * sizeof *layout->block_nodes);
}

static head head_of(const cal_sim* sim) {
    const cal_model* model = sim->model;
    head own = {.kind = sim->system != NULL ? SYSTEM : EVENTS};
    snprintf(own.version, sizeof own.version, "%s, format %d", cal_version(), FORMAT);
    if (sim->system != NULL) {
        own.bodies = model->body_count;
        own.moving = model->v_count;
        own.model = cal_model_hash(model);
        own.settings = hash_system(sim->system);
        return own;
    }
    // What a world has beside a model is compared place by place (state/world_image.h).
    own.bodies = model != NULL ? model->body_count : 0;
    own.moving = model != NULL ? model->v_count : 0;
    own.model = model != NULL ? cal_model_contact_hash(model) : 0;
    own.settings = cal_world_identity(sim->world);
    return own;
}

static cal_status compare(const head* theirs, const head* own, const char* what, cal_error* error) {
    if (theirs->kind != own->kind)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%.120s is of a simulation %s events; this one has %s", what,
                        theirs->kind == EVENTS ? "with" : "without", own->kind == EVENTS ? "them" : "none");
    if (memcmp(theirs->version, own->version, TEXT) != 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, "%.120s is of Calder %.31s; this is %.31s", what, theirs->version,
                        own->version);
    if (theirs->bodies != own->bodies || theirs->moving != own->moving)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%.120s is of another model: %lld bodies, %lld of them moving; this one has %lld, %lld", what,
                        (long long)theirs->bodies, (long long)theirs->moving, (long long)own->bodies,
                        (long long)own->moving);
    if (theirs->model != own->model)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%.120s is of another model: as many bodies, but other masses, frames, joints, motors, shapes "
                        "or gravity",
                        what);
    if (theirs->settings != own->settings)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "%.120s is of a simulation with another definition: other tolerances, solver or settings of "
                        "events",
                        what);
    return CAL_OK;
}

// --- What the user set --------------------------------------------------------------------------------------------------------------

typedef struct settings {
    double *tau, *control;
    bool* connected;
    cal_outer_force* pushes;
    int push_count, push_capacity;
} settings;

static void free_settings(settings* s) {
    cal_free(s->tau);
    cal_free(s->control);
    cal_free(s->connected);
    cal_free(s->pushes);
}

static void move_settings(cal_image* image, const cal_model* model, settings* s) {
    cal_image_numbers(image, s->tau, (size_t)model->v_count);
    cal_image_numbers(image, s->control, (size_t)cal_drive_count(model));
    for (int i = 0; i < model->constraint_count; i++) cal_image_bool(image, &s->connected[i]);
    if (!cal_image_list(image, (void**)&s->pushes, &s->push_count, &s->push_capacity, 0, sizeof *s->pushes)) return;
    for (int i = 0; i < s->push_count; i++) {
        cal_outer_force* push = &s->pushes[i];
        cal_image_int(image, &push->body);
        cal_image_numbers(image, push->force, 3);
        cal_image_numbers(image, push->torque, 3);
        cal_image_numbers(image, push->point, 3);
        cal_image_check(image, push->body >= 0 && push->body < model->body_count);
    }
}

// --- Simulations with events ----------------------------------------------------------------------------------------------------------

static void store_events(const cal_sim* sim, cal_image* image) {
    settings s = {sim->tau, sim->control, sim->connected, sim->pushes, sim->push_count, sim->push_capacity};
    if (sim->model != NULL) move_settings(image, sim->model, &s);
    cal_world_store(sim->world, image);
}

static cal_status load_events(cal_sim* sim, cal_image* image, cal_error* error) {
    const cal_model* model = sim->model;
    if (model == NULL) return cal_world_load(sim->world, image, error);
    settings s = {.tau = cal_allocate((size_t)model->v_count + 1, sizeof *s.tau),
                  .control = cal_allocate((size_t)cal_drive_count(model) + 1, sizeof *s.control),
                  .connected = cal_allocate((size_t)model->constraint_count + 1, sizeof *s.connected)};
    if (s.tau == NULL || s.control == NULL || s.connected == NULL)
        image->status = CAL_NO_MEMORY;
    else
        move_settings(image, model, &s);
    const cal_status status = cal_world_load(sim->world, image, error);
    if (status == CAL_OK) {
        settings old = {sim->tau, sim->control, sim->connected, sim->pushes, 0, 0};
        sim->tau = s.tau, sim->control = s.control, sim->connected = s.connected;
        sim->pushes = s.pushes, sim->push_count = s.push_count, sim->push_capacity = s.push_capacity;
        s = old;
    }
    free_settings(&s);
    sim->current = false;
    return status;
}

// --- Systems ------------------------------------------------------------------------------------------------------------------------

static void store_system(const cal_system* system, cal_image* image) {
    const size_t words = cal_system_memory_size(system) / WORD; // whole ones
    void* memory = cal_allocate(words, WORD);
    if (memory == NULL) {
        image->status = CAL_NO_MEMORY;
        return;
    }
    cal_system_store(system, memory);
    cal_image_words(image, memory, words);
    cal_free(memory);
}

// A load can fail for want of memory for pushes, or since no system has stored these words: then the system gets back what it had, which
// needs no memory.
static cal_status load_system(cal_system* system, const cal_image* image, const char* what, cal_error* error) {
    const size_t size = cal_system_memory_size(system);
    void* before = cal_allocate(size / WORD, WORD);
    cal_status status = before != NULL ? CAL_OK : CAL_NO_MEMORY;
    bool kept = true;
    if (status == CAL_OK) {
        cal_system_store(system, before);
        status = cal_system_load(system, image->words + image->at, (image->count - image->at) * WORD);
        if (status != CAL_OK) kept = cal_system_load(system, before, size) == CAL_OK;
    }
    cal_free(before);
    if (status == CAL_OK) return CAL_OK;
    if (status == CAL_BAD_ARGUMENT && kept)
        return cal_fail(error, status, "%.120s holds numbers that no simulation has", what);
    return cal_fail(error, status, "no memory to restore a simulation%s", kept ? "" : ", which has lost its state");
}

// --- The public side ----------------------------------------------------------------------------------------------------------------

cal_status cal_sim_snapshot(cal_sim* sim, cal_snapshot** out, cal_error* error) {
    if (sim == NULL || out == NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_snapshot: sim and out must not be NULL");
    *out = NULL;
    const cal_status still = cal_sim_check_still(sim, "cal_sim_snapshot", error);
    if (still != CAL_OK) return still;
    if (sim->system == NULL && sim->world->failed != CAL_OK)
        return cal_fail(error, sim->world->failed, "a simulation that failed on its way has no state to keep");
    if (sim->system == NULL) { // what is new is taken in: it is a part of the state
        cal_status status = cal_world_gather(sim->world, error);
        if (status == CAL_OK) status = cal_world_admit(sim->world, error);
        if (status != CAL_OK) return status;
    }
    cal_snapshot* snapshot = cal_allocate(1, sizeof *snapshot);
    if (snapshot == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for a snapshot");
    cal_image* image = &snapshot->image;
    head own = head_of(sim);
    image->writes = true;
    cal_image_words(image, &own, sizeof own / WORD);
    if (sim->system != NULL)
        store_system(sim->system, image);
    else
        store_events(sim, image);
    // Room behind it for the hash that cal_snapshot_bytes ends with.
    if (image->status == CAL_OK) image->words[1] = image->count;
    uint64_t hash = image->status == CAL_OK ? cal_hash_words(CAL_HASH_START, image->words, image->count) : 0;
    cal_image_words(image, &hash, 1);
    image->writes = false;
    if (image->status != CAL_OK) {
        cal_snapshot_destroy(snapshot);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a snapshot");
    }
    image->count--;
    *out = snapshot;
    return CAL_OK;
}

// Bytes are the image's words, and a last one that is their hash.
const void* cal_snapshot_bytes(const cal_snapshot* snapshot, size_t* size) {
    if (!snapshot || !size) return NULL;
    *size = (snapshot->image.count + 1) * WORD;
    return snapshot->image.words;
}

cal_status cal_snapshot_from_bytes(const void* bytes, size_t size, cal_snapshot** out, cal_error* error) {
    if (out == NULL || (bytes == NULL && size > 0))
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_snapshot_from_bytes: bytes and out must not be NULL");
    *out = NULL;
    const size_t count = size / WORD;
    uint64_t begin[CAL_SNAPSHOT_HEAD] = {0}, last = 0;
    const bool whole = size % WORD == 0 && count > CAL_SNAPSHOT_HEAD;
    if (whole) {
        memcpy(begin, bytes, sizeof begin);
        memcpy(&last, (const char*)bytes + (count - 1) * WORD, sizeof last);
    }
    if (!whole || begin[1] != count - 1 || cal_hash_words(CAL_HASH_START, bytes, count - 1) != last)
        return cal_fail(error, CAL_BAD_ARGUMENT, "the bytes of the snapshot are damaged");
    cal_snapshot* snapshot = cal_allocate(1, sizeof *snapshot);
    uint64_t* words = cal_allocate(count, WORD);
    if (snapshot == NULL || words == NULL) {
        cal_free(snapshot);
        cal_free(words);
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for a snapshot");
    }
    memcpy(words, bytes, size);
    snapshot->image = (cal_image){.words = words, .count = count - 1, .capacity = count};
    *out = snapshot;
    return CAL_OK;
}

cal_status cal_snapshot_restore(cal_sim* sim, cal_image* image, const char* what, cal_error* error) {
    const head own = head_of(sim);
    head theirs = {0};
    cal_image_words(image, &theirs, sizeof theirs / WORD);
    if (image->status != CAL_OK) return cal_fail(error, CAL_BAD_ARGUMENT, "%.120s is damaged", what);
    const cal_status status = compare(&theirs, &own, what, error);
    if (status != CAL_OK) return status;
    if (sim->system != NULL) return load_system(sim->system, image, what, error);
    const cal_status whole = cal_world_gather(sim->world, error);
    return whole == CAL_OK ? load_events(sim, image, error) : whole;
}

cal_status cal_sim_restore(cal_sim* sim, const cal_snapshot* snapshot, cal_error* error) {
    if (sim == NULL || snapshot == NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_restore: sim and snapshot must not be NULL");
    const cal_status still = cal_sim_check_still(sim, "cal_sim_restore", error);
    if (still != CAL_OK) return still;
    cal_image image = snapshot->image; // to be read from its beginning; the words are shared
    return cal_snapshot_restore(sim, &image, "the snapshot", error);
}

void cal_snapshot_destroy(cal_snapshot* snapshot) {
    if (snapshot == NULL) return;
    cal_image_free(&snapshot->image);
    cal_free(snapshot);
}

// Another simulation of the same model and definition, at the model's start.
static cal_status make_alike(const cal_sim* sim, cal_sim** out, cal_error* error) {
    if (sim->model == NULL)
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "a world that was made by hand cannot be made again: restore its snapshot instead");
    cal_sim_def def = sim->system != NULL ? sim->system->def : cal_default_sim_def();
    if (sim->system != NULL) {
        def.contact = false;
        def.schedule = sim->system->schedule[0] != '\0' ? sim->system->schedule : NULL;
        if (sim->system->own_machine != NULL) def.machine = NULL;
    } else {
        def.events = &sim->events;
    }
    return cal_sim_create(sim->model, &def, out, error);
}

cal_status cal_sim_fork(cal_sim* sim, cal_sim** out, cal_error* error) {
    if (sim == NULL || out == NULL)
        return cal_fail(error, CAL_BAD_ARGUMENT, "cal_sim_fork: sim and out must not be NULL");
    *out = NULL;
    cal_snapshot* snapshot = NULL;
    cal_sim* other = NULL;
    cal_status status = cal_sim_check_still(sim, "cal_sim_fork", error);
    if (status == CAL_OK) status = make_alike(sim, &other, error);
    if (status == CAL_OK) status = cal_sim_snapshot(sim, &snapshot, error);
    if (status == CAL_OK && sim->system != NULL && hash_system(sim->system) != hash_system(other->system))
        status = cal_fail(error, CAL_NOT_AVAILABLE,
                          "a simulation whose joints were given processors one by one cannot be forked: make another "
                          "one and restore a snapshot");
    if (status == CAL_OK && sim->world != NULL) status = cal_members_copy(other->world, sim->world, error);
    if (status == CAL_OK) status = cal_sim_restore(other, snapshot, error);
    cal_snapshot_destroy(snapshot);
    if (status != CAL_OK) {
        cal_sim_destroy(other);
        return status;
    }
    if (sim->world != NULL) cal_world_keep_events(other->world, sim->world->log.taken);
    *out = other;
    return CAL_OK;
}
