// Who advances which instances of an ensemble: processes by shares, workers from a counter (ensemble.h).
#include "base/memory.h"
#include "ensemble/ensemble.h"
#include <stdatomic.h>

static bool has_ranks(const cal_ensemble* ensemble) {
    return ensemble->machine && ensemble->machine->keep != CAL_KEEP_ALL;
}

// The first instance of a processor's share: contiguous, of sizes that differ by one at most.
static int first_of(const cal_ensemble* ensemble, int processor) {
    return (int)((int64_t)ensemble->count * processor / ensemble->machine->processors);
}

void cal_ensemble_divide(cal_ensemble* ensemble) {
    const cal_machine* machine = ensemble->machine;
    ensemble->first = 0;
    ensemble->end = ensemble->count;
    ensemble->workers = 1;
    if (has_ranks(ensemble)) {
        ensemble->first = first_of(ensemble, machine->keep);
        ensemble->end = first_of(ensemble, machine->keep + 1);
    } else if (machine && machine->ops->together)
        ensemble->workers = machine->processors < ensemble->count ? machine->processors : ensemble->count;
}

// --- Workers -----------------------------------------------------------------------------------------------------------

typedef struct round_of_units {
    cal_ensemble* ensemble;
    const cal_ensemble_job* job;
    atomic_int next;   // unit that nobody has taken yet
    atomic_int status; // an error that is not an instance's own
} round_of_units;

static void take_units(void* argument, int worker) {
    round_of_units* round = argument;
    cal_ensemble* ensemble = round->ensemble;
    for (int unit; (unit = atomic_fetch_add_explicit(&round->next, 1, memory_order_relaxed)) < ensemble->unit_count;) {
        const cal_status status = ensemble->ops->run(ensemble, worker, unit, round->job);
        // The largest one, so that it does not depend on who came first.
        int known = atomic_load(&round->status);
        while ((int)status > known && !atomic_compare_exchange_weak(&round->status, &known, (int)status)) {}
    }
}

cal_status cal_ensemble_run(cal_ensemble* ensemble, const cal_ensemble_job* job) {
    round_of_units round = {.ensemble = ensemble, .job = job};
    cal_status status = CAL_OK;
    if (ensemble->workers > 1)
        status = ensemble->machine->ops->together(ensemble->machine, take_units, &round, ensemble->workers);
    else
        take_units(&round, 0);
    if (!status) status = (cal_status)atomic_load(&round.status);
    return cal_ensemble_agree(ensemble, status);
}

// --- Processes ---------------------------------------------------------------------------------------------------------

enum { MOST_NUMBERS = 65536, TEXT_NUMBERS = sizeof(((cal_error*)0)->text) / sizeof(double) };

static int largest_share(const cal_ensemble* ensemble) {
    return (ensemble->count - 1) / ensemble->machine->processors + 1;
}

cal_status cal_ensemble_create_messages(cal_ensemble* ensemble) {
    if (!has_ranks(ensemble)) return CAL_OK;
    const size_t all = (size_t)largest_share(ensemble) * ensemble->row_size;
    ensemble->message_size = all < MOST_NUMBERS ? all : MOST_NUMBERS;
    if (ensemble->message_size < ensemble->row_size) ensemble->message_size = ensemble->row_size;
    if (ensemble->message_size < TEXT_NUMBERS) ensemble->message_size = TEXT_NUMBERS;
    const size_t parts = 2 + (size_t)ensemble->machine->processors;
    ensemble->messages = cal_allocate(parts * ensemble->message_size, sizeof(double));
    return ensemble->messages ? CAL_OK : CAL_NO_MEMORY;
}

// Where this process writes what it shows next: not where the last one is, which others may still read.
static double* begin_message(cal_ensemble* ensemble) {
    return ensemble->messages + (ensemble->message_count++ % 2) * ensemble->message_size;
}

static cal_status gather(cal_ensemble* ensemble, const double* own, size_t count, const double** all) {
    cal_machine* machine = ensemble->machine;
    double* room = ensemble->messages + 2 * ensemble->message_size;
    return machine->ops->gather(machine, machine->keep, own, (int)count, room, all);
}

// Instances `from` on of every share, at most `most` of them.
static cal_status collect_some(cal_ensemble* ensemble, double* numbers, size_t size, int from, int most) {
    const double* all[CAL_ENSEMBLE_PROCESSES];
    const int here = ensemble->machine->keep, first = ensemble->first + from;
    double* own = begin_message(ensemble);
    for (int k = 0; k < most && first + k < ensemble->end; k++)
        memcpy(own + (size_t)k * size, numbers + (size_t)(first + k) * size, size * sizeof(double));
    const cal_status status = gather(ensemble, own, (size_t)most * size, all);
    for (int p = 0; !status && p < ensemble->machine->processors; p++) {
        const int begin = first_of(ensemble, p) + from, end = first_of(ensemble, p + 1);
        for (int k = 0; p != here && k < most && begin + k < end; k++)
            memcpy(numbers + (size_t)(begin + k) * size, all[p] + (size_t)k * size, size * sizeof(double));
    }
    return status;
}

cal_status cal_ensemble_collect(cal_ensemble* ensemble, double* numbers, size_t size) {
    if (!has_ranks(ensemble) || size == 0) return CAL_OK;
    const int share = largest_share(ensemble);
    const size_t fit = ensemble->message_size / size;
    const int most = fit < (size_t)share ? (int)fit : share;
    cal_status status = CAL_OK;
    for (int from = 0; !status && from < share; from += most)
        status = collect_some(ensemble, numbers, size, from, most);
    return status;
}

cal_status cal_ensemble_agree(const cal_ensemble* ensemble, cal_status status) {
    if (!has_ranks(ensemble) || ensemble->machine->processors > CAL_ENSEMBLE_PROCESSES) return status;
    // On the stack: this is how processes say that there is no memory.
    double room[CAL_ENSEMBLE_PROCESSES];
    const double* all[CAL_ENSEMBLE_PROCESSES];
    const double own = (double)status;
    cal_machine* machine = ensemble->machine;
    const cal_status told = machine->ops->gather(machine, machine->keep, &own, 1, room, all);
    if (told) return told;
    for (int p = 0; p < machine->processors; p++)
        if ((int)*all[p] > (int)status) status = (cal_status)(int)*all[p];
    return status;
}

// The line of an instance that failed since the last time.
static cal_status collect_text(cal_ensemble* ensemble, int instance) {
    const double* all[CAL_ENSEMBLE_PROCESSES];
    double* own = begin_message(ensemble);
    const bool here = instance >= ensemble->first && instance < ensemble->end;
    int owner = 0;
    while (first_of(ensemble, owner + 1) <= instance) owner++;
    memset(own, 0, TEXT_NUMBERS * sizeof(double));
    if (here && ensemble->texts[instance]) memcpy(own, ensemble->texts[instance], strlen(ensemble->texts[instance]));
    const cal_status status = gather(ensemble, own, TEXT_NUMBERS, all);
    if (status || here) return status;
    char text[TEXT_NUMBERS * sizeof(double)];
    memcpy(text, all[owner], sizeof text);
    cal_free(ensemble->texts[instance]);
    ensemble->texts[instance] = text[0] ? cal_copy_text(text) : NULL;
    return CAL_OK;
}

cal_status cal_ensemble_collect_rows(cal_ensemble* ensemble) {
    cal_status status = cal_ensemble_collect(ensemble, ensemble->rows, ensemble->row_size);
    for (int i = 0; has_ranks(ensemble) && !status && i < ensemble->count; i++) {
        double* row = cal_ensemble_row(ensemble, i);
        if (row[CAL_ROW_STATUS] == (double)CAL_OK || row[CAL_ROW_TOLD] != 0.0) continue;
        status = collect_text(ensemble, i);
        row[CAL_ROW_TOLD] = 1.0;
    }
    return status;
}
