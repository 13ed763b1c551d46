// Checkpoints of ensembles: all instances in one file (checkpoint_buffer.h).
//
//     identity │ time, stretch │ rows │ lines of those that failed │ images
//
// An image is what an instance goes on from (ensemble/image.h). All of them are a table of count × size words, of which slices are written:
// every process has its own share, and none needs room for all. Where each instance is a simulation of its own, as where shapes touch, its
// snapshot is in the file instead, behind a word that says how long it is.
#include "base/error.h"
#include "base/finite.h"
#include "base/memory.h"
#include "base/sound.h"
#include "ensemble/ensemble.h"
#include "model/coordinates.h"
#include "record/checkpoint_buffer.h"
#include "simulation/snapshot.h"
#include <math.h>
#include <string.h>

enum { TEXT = 32, LINE_WORDS = sizeof(((cal_error*)0)->text) / CAL_WORD };
static const char KIND[CAL_WORD] = CAL_ENSEMBLE_WORD;

// Only words.
typedef struct identity {
    char kind[CAL_WORD], version[TEXT], solver[TEXT];
    double step, relative;
    uint64_t model, settings;
    int64_t count, q_count, v_count, image, lanes; // words of an image; lanes that it depends on
} identity;
_Static_assert(sizeof(identity) % CAL_WORD == 0, "words are moved whole");

static size_t image_size(const cal_ensemble* e) { return e->ops->image_size ? e->ops->image_size(e) : 0; }
static bool are_simulations(const cal_ensemble* e) { return e->ops->sim && image_size(e) == 0; }
static bool has_ranks(const cal_ensemble* e) { return e->machine && e->machine->keep != CAL_KEEP_ALL; }
static cal_machine* machine_of(const cal_ensemble* e) { return has_ranks(e) ? e->machine : NULL; }
static size_t share_of(const cal_ensemble* e) { return (size_t)(e->end - e->first); }

static cal_status check(const cal_ensemble* e, const char* path, const char* function, cal_error* error) {
    if (!e || !path) return cal_fail(error, CAL_BAD_ARGUMENT, "%s: ensemble and path must not be NULL", function);
    const cal_status still = cal_check_not_advancing(&e->advancing, function, error);
    if (still) return still;
    if (are_simulations(e) && has_ranks(e))
        return cal_fail(error, CAL_NOT_AVAILABLE,
                        "an ensemble on ranks whose instances are simulations of their own cannot be saved in a "
                        "checkpoint, or continue from one; use machine threads");
    return CAL_OK;
}

static identity identify(const cal_ensemble* e) {
    identity own = {.step = e->def.sim.step,
                    .relative = e->def.sim.relative,
                    .model = cal_model_hash(e->model),
                    .settings = e->settings,
                    .count = e->count,
                    .q_count = e->model->q_count,
                    .v_count = e->model->v_count,
                    .image = (int64_t)image_size(e),
                    .lanes = e->ops->depends_on_lanes && e->ops->depends_on_lanes(e) ? e->engine->lanes : 0};
    memcpy(own.kind, KIND, sizeof own.kind);
    snprintf(own.version, TEXT, "%s", cal_version());
    snprintf(own.solver, TEXT, "%s", e->solver ? e->solver->name : "bdf");
    return own;
}

static cal_status compare(const identity* theirs, const identity* own, const char* path, cal_error* error) {
    const char* other = NULL;
    if (memcmp(theirs->kind, KIND, sizeof KIND) != 0)
        other = "is no checkpoint of an ensemble";
    else if (strcmp(theirs->version, own->version) != 0)
        other = "was written by another version of Calder";
    else if (theirs->model != own->model || theirs->q_count != own->q_count || theirs->v_count != own->v_count)
        other = "is of another model";
    if (other) return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "%s", path, other);
    if (theirs->count != own->count)
        return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "has %lld instances; this ensemble has %lld", path,
                        (long long)theirs->count, (long long)own->count);
    if (strcmp(theirs->solver, own->solver) != 0)
        return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "is of solver '%s'; this ensemble uses '%s'", path,
                        theirs->solver, own->solver);
    if (theirs->step != own->step || theirs->relative != own->relative)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE "has the step %.10g s and the tolerance %.10g; this ensemble has %.10g and %.10g",
                        path, theirs->step, theirs->relative, own->step, own->relative);
    if (theirs->settings != own->settings)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE "is of an ensemble with another algorithm, tolerance or stabilisation", path);
    if (theirs->image != own->image)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        CAL_FROM_FILE "has instances that are advanced in another way, or by another build", path);
    if (theirs->lanes != own->lanes)
        return cal_fail(error, CAL_BAD_ARGUMENT, CAL_FROM_FILE "was written with %lld lanes; this ensemble has %lld",
                        path, (long long)theirs->lanes, (long long)own->lanes);
    return CAL_OK;
}

// --- Rows and lines ------------------------------------------------------------------------------------------------------

static size_t row_words(const cal_ensemble* e) {
    return CAL_ROW_HEAD + (size_t)e->model->q_count + (size_t)e->model->v_count;
}

static void put_rows(cal_checkpoint_buffer* s, cal_ensemble* e) {
    char line[LINE_WORDS * CAL_WORD];
    for (int i = 0; i < e->count; i++) cal_checkpoint_buffer_move(s, cal_ensemble_row(e, i), row_words(e));
    for (int i = 0; i < e->count; i++) {
        if (!cal_ensemble_has_failed(e, i)) continue;
        memset(line, 0, sizeof line);
        if (e->texts[i]) snprintf(line, sizeof line, "%s", e->texts[i]);
        cal_checkpoint_buffer_move(s, line, LINE_WORDS);
    }
}

// What a file has, until all of it was read.
typedef struct reading {
    double *rows, *images;
    char* lines; // LINE_WORDS per instance
    cal_image* snapshots;
} reading;

static void end_reading(const cal_ensemble* e, reading* r) {
    for (int i = 0; r->snapshots && i < e->count; i++) cal_image_free(&r->snapshots[i]);
    cal_free(r->rows);
    cal_free(r->images);
    cal_free(r->lines);
    cal_free(r->snapshots);
}

static void get_rows(cal_checkpoint_buffer* s, const cal_ensemble* e, reading* r) {
    const size_t words = row_words(e);
    for (int i = 0; i < e->count; i++)
        cal_checkpoint_buffer_move(s, r->rows ? r->rows + (size_t)i * words : NULL, words);
    for (int i = 0; r->rows && i < e->count; i++)
        if (r->rows[(size_t)i * words + CAL_ROW_STATUS] != (double)CAL_OK)
            cal_checkpoint_buffer_move(s, r->lines ? r->lines + (size_t)i * LINE_WORDS * CAL_WORD : NULL, LINE_WORDS);
}

// Counts of all instances together fit into 63 bits, with room to go on. Who has not failed is not behind: after an advance that failed
// without memory some are ahead.
static bool is_head_sound(const cal_ensemble* e, const double* row, double time) {
    const double most = fmin(0x1p53, 0x1p62 / e->count);
    for (int i = CAL_ROW_STEPS; i <= CAL_ROW_JACOBIAN; i++)
        if (!(row[i] >= 0.0 && row[i] <= most)) return false;
    return cal_is_index(row[CAL_ROW_STATUS], CAL_STATUS_COUNT - 1) && cal_is_index(row[CAL_ROW_TOLD], 1) &&
           isfinite(row[CAL_ROW_TIME]) && (row[CAL_ROW_STATUS] != (double)CAL_OK || row[CAL_ROW_TIME] >= time);
}

static bool are_sound(const cal_ensemble* e, const reading* r, const double times[2]) {
    const size_t size = image_size(e);
    bool sound = isfinite(times[0]) && times[1] >= 0.0;
    for (int i = 0; i < e->count && sound; i++) {
        const double* row = r->rows + (size_t)i * row_words(e);
        sound = is_head_sound(e, row, times[0]) &&
                cal_all_finite(row + CAL_ROW_HEAD, e->model->q_count + e->model->v_count) &&
                !cal_model_find_bad_quaternion(e->model, row + CAL_ROW_HEAD);
        if (sound && !are_simulations(e) && i >= e->first && i < e->end)
            sound = e->ops->is_sound(e, r->images + (size_t)(i - e->first) * size, row);
    }
    return sound;
}

// --- Images --------------------------------------------------------------------------------------------------------------

// A slice is so many words of each instance: not more than a message of the machine has.
static size_t slice_words(const cal_ensemble* e, size_t from) {
    const size_t left = image_size(e) - from, most = row_words(e);
    return left < most ? left : most;
}

static cal_status put_images(cal_checkpoint_buffer* s, cal_ensemble* e) {
    const size_t size = image_size(e), count = (size_t)e->count;
    double* images = cal_allocate(share_of(e) * size + 1, sizeof *images);
    double* slice = cal_allocate(count * row_words(e), sizeof *slice);
    cal_status status = images && slice ? e->ops->store(e, images) : CAL_NO_MEMORY;
    status = cal_ensemble_agree(e, status);
    for (size_t from = 0, words; !status && images && slice && from < size; from += words) {
        words = slice_words(e, from);
        for (size_t i = 0; i < share_of(e); i++)
            memcpy(slice + ((size_t)e->first + i) * words, images + i * size + from, words * sizeof *slice);
        status = cal_ensemble_collect(e, slice, words);
        if (!status) cal_checkpoint_buffer_move(s, slice, count * words);
    }
    cal_free(images);
    cal_free(slice);
    return status;
}

static void get_images(cal_checkpoint_buffer* s, const cal_ensemble* e, double* slice, reading* r) {
    const size_t size = image_size(e), count = (size_t)e->count;
    for (size_t from = 0, words; from < size; from += words) {
        words = slice_words(e, from);
        cal_checkpoint_buffer_move(s, slice, count * words);
        for (size_t i = 0; slice && r->images && i < share_of(e); i++)
            memcpy(r->images + i * size + from, slice + ((size_t)e->first + i) * words, words * sizeof *slice);
    }
}

static cal_status put_snapshots(cal_checkpoint_buffer* s, const cal_ensemble* e, cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = 0; i < e->count && !status; i++) {
        cal_snapshot* snapshot;
        status = cal_sim_snapshot(e->ops->sim(e, i), &snapshot, error);
        if (status) break;
        double words = (double)snapshot->image.count;
        cal_checkpoint_buffer_move(s, &words, 1);
        cal_checkpoint_buffer_move(s, snapshot->image.words, snapshot->image.count);
        cal_snapshot_destroy(snapshot);
    }
    return status;
}

// Whatever a file says of the length of a snapshot, it is no longer than the file.
static cal_status get_snapshots(cal_checkpoint_buffer* s, const cal_ensemble* e, reading* r) {
    for (int i = 0; i < e->count; i++) {
        cal_image* image = &r->snapshots[i];
        double words = 0.0;
        cal_checkpoint_buffer_move(s, &words, 1);
        if (!(words >= CAL_SNAPSHOT_HEAD && words <= (double)s->left && words == (double)(size_t)words))
            return CAL_BAD_ARGUMENT;
        image->count = image->capacity = (size_t)words;
        image->words = cal_allocate(image->count, CAL_WORD);
        if (!image->words) return CAL_NO_MEMORY;
        cal_checkpoint_buffer_move(s, image->words, image->count);
    }
    return CAL_OK;
}

// All, or none: those that were restored go back.
static cal_status restore_snapshots(const cal_ensemble* e, reading* r, const char* path, cal_error* error) {
    cal_snapshot** before = cal_allocate((size_t)e->count, sizeof *before);
    char name[128];
    cal_status status = before ? CAL_OK : cal_fail(error, CAL_NO_MEMORY, "no memory to continue from '%.100s'", path);
    int done = 0;
    snprintf(name, sizeof name, "'%.100s'", path);
    for (; done < e->count && !status; done++) {
        cal_sim* sim = e->ops->sim(e, done);
        status = cal_sim_snapshot(sim, &before[done], error);
        if (!status) status = cal_snapshot_restore(sim, &r->snapshots[done], name, error);
    }
    for (int i = 0; before && i < done; i++) {
        if (status && before[i]) (void)cal_sim_restore(e->ops->sim(e, i), before[i], NULL);
        cal_snapshot_destroy(before[i]);
    }
    cal_free(before);
    return status;
}

static void show_balances(const cal_ensemble* e) {
    cal_energy_balance balance;
    for (int i = 0; e->accounts && i < e->count; i++)
        if (cal_sim_balance(e->ops->sim(e, i), &balance) == CAL_OK) cal_ensemble_show_balance(e, i, &balance);
}

// --- The whole -----------------------------------------------------------------------------------------------------------

cal_status cal_ensemble_save(cal_ensemble* e, const char* path, cal_error* error) {
    cal_status status = check(e, path, "cal_ensemble_save", error);
    if (status) return status;
    (void)cal_ensemble_get(e, 0, NULL, NULL); // rows show what forward dynamics was asked for
    identity own = identify(e);
    double times[2] = {e->time, e->stretch};
    cal_checkpoint_buffer words;
    cal_checkpoint_buffer_create(&words, path, machine_of(e));
    cal_checkpoint_buffer_move(&words, &own, sizeof own / CAL_WORD);
    cal_checkpoint_buffer_move(&words, times, 2);
    put_rows(&words, e);
    status = are_simulations(e) ? put_snapshots(&words, e, error) : put_images(&words, e);
    if (status && !words.status) words.status = status; // nothing takes the file's place
    const cal_status closed = cal_checkpoint_buffer_close(&words, error);
    return status ? cal_fail(error, status, "cannot write '%.100s': %s", path, cal_status_text(status)) : closed;
}

static void take_rows(cal_ensemble* e, const reading* r) {
    e->any_failed = false;
    for (int i = 0; i < e->count; i++) {
        cal_free(e->texts[i]);
        e->texts[i] = NULL;
        memcpy(cal_ensemble_row(e, i), r->rows + (size_t)i * row_words(e), row_words(e) * sizeof(double));
        if (!cal_ensemble_has_failed(e, i)) continue;
        char* line = r->lines + (size_t)i * LINE_WORDS * CAL_WORD;
        line[LINE_WORDS * CAL_WORD - 1] = '\0';
        if (line[0]) e->texts[i] = cal_copy_text(line);
        e->any_failed = true;
    }
    e->queried = CAL_NONE;
    e->behind = false;
}

static cal_status read_all(cal_checkpoint_buffer* words, const cal_ensemble* e, double times[2], reading* r,
                           const char* path, cal_error* error) {
    const identity own = identify(e);
    identity theirs;
    cal_checkpoint_buffer_move(words, &theirs, sizeof theirs / CAL_WORD);
    cal_status status = cal_checkpoint_buffer_check(words, error);
    theirs.version[TEXT - 1] = theirs.solver[TEXT - 1] = '\0';
    if (!status) status = compare(&theirs, &own, path, error);
    if (status) return status;
    const size_t count = (size_t)e->count;
    double* slice = cal_allocate(count * row_words(e), sizeof *slice);
    r->rows = cal_allocate(count * row_words(e), sizeof *r->rows);
    r->lines = cal_allocate(count * LINE_WORDS, CAL_WORD);
    r->images = cal_allocate(share_of(e) * image_size(e) + 1, sizeof *r->images);
    if (are_simulations(e)) r->snapshots = cal_allocate(count, sizeof *r->snapshots);
    const bool room = slice && r->rows && r->lines && r->images && (r->snapshots || !are_simulations(e));
    status = cal_ensemble_agree(e, room ? CAL_OK : CAL_NO_MEMORY);
    if (!status) {
        cal_checkpoint_buffer_move(words, times, 2);
        get_rows(words, e, r);
        if (are_simulations(e))
            status = get_snapshots(words, e, r);
        else
            get_images(words, e, slice, r);
    }
    cal_free(slice);
    const cal_status read = cal_checkpoint_buffer_check(words, error);
    if (read) return read;
    if (!status && !are_sound(e, r, times)) status = CAL_BAD_ARGUMENT;
    status = cal_ensemble_agree(e, status);
    if (status == CAL_BAD_ARGUMENT)
        return cal_fail(error, status, CAL_FROM_FILE "holds numbers that no ensemble has", path);
    return status ? cal_fail(error, status, "no memory to continue from '%.100s'", path) : CAL_OK;
}

cal_status cal_ensemble_load(cal_ensemble* e, const char* path, cal_error* error) {
    cal_status status = check(e, path, "cal_ensemble_load", error);
    cal_checkpoint_buffer words;
    reading r = {0};
    double times[2] = {0};
    if (!status) status = cal_checkpoint_buffer_open(&words, path, machine_of(e), error);
    if (status) return status;
    status = read_all(&words, e, times, &r, path, error);
    cal_checkpoint_buffer_close(&words, NULL);
    if (!status && are_simulations(e)) status = restore_snapshots(e, &r, path, error);
    if (!status) {
        take_rows(e, &r);
        e->time = times[0], e->stretch = times[1];
        if (are_simulations(e))
            show_balances(e);
        else
            status = cal_ensemble_agree(e, e->ops->load(e, r.images));
        if (!status) status = cal_ensemble_collect_rows(e); // with balances
        if (status) cal_explain(error, status, "cannot continue from '%.100s': %s", path, cal_status_text(status));
    }
    end_reading(e, &r);
    return status;
}
