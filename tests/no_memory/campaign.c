// Every allocation of every public function fails once: the call says so in one line, what it was called for is as before, the same call
// then succeeds, and the end has the bits of a run that nothing disturbed. Then memory ends for good there: everything can still be
// destroyed, and nothing is lost.
//
//   no_memory [--most N] [SCENARIO …]      prints faults per scenario; at N places of each at most, all over it; else at every one
#include "campaign.h"
#include "../place.h"
#if defined(__GLIBC__)
#include <execinfo.h>
#endif
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// --- Memory that fails ---------------------------------------------------------------------------------------------------

static _Atomic int64_t taken = 0, live = 0, failed = 0;
static int64_t failing = -1; // the number of the allocation that fails; -1: none
static bool for_good = false;
static const char* now = "";
static int64_t injected = 0; // runs that met a fault

// Where the last one failed, for whoever looks for the reason (addr2line -f -e no_memory).
enum { FRAMES = 16 };
static void* frames[FRAMES];
static int frame_count = 0;
static void remember_place(void) {
#if defined(__GLIBC__)
    frame_count = backtrace(frames, FRAMES);
#endif
}
static void print_place(void) {
#if defined(__GLIBC__)
    backtrace_symbols_fd(frames, frame_count, 2);
#endif
}

static void* take(size_t size, void* user) {
    (void)user;
    const int64_t number = atomic_fetch_add(&taken, 1);
    if (failing >= 0 && (for_good ? number >= failing : number == failing)) {
        if (number == failing) remember_place();
        atomic_fetch_add(&failed, 1);
        return NULL;
    }
    atomic_fetch_add(&live, 1);
    return malloc(size);
}

static void give_back(void* memory, void* user) {
    (void)user;
    atomic_fetch_sub(&live, 1);
    free(memory);
}

static void stop(const char* what, const char* detail) {
    fprintf(stderr, "no_memory: %s, allocation %" PRId64 " fails%s: %s: %s\n", now, failing,
            for_good ? " and all after it" : "", what, detail);
    print_place();
    exit(1);
}

#if !defined(__SANITIZE_ADDRESS__) // which says more
static void crashed(int number) {
    (void)number;
    static const char text[] = "no_memory: it crashed in: ";
    char line[32];
    if (write(2, text, sizeof text - 1) < 0 || write(2, now, strlen(now)) < 0) _exit(3);
    const int length = snprintf(line, sizeof line, " %" PRId64 "%s\n", failing, for_good ? " +" : "");
    if (write(2, line, (size_t)length) < 0) _exit(3);
    print_place();
    _exit(3);
}
#endif

// --- What scenarios use ----------------------------------------------------------------------------------------------------

const char cal_campaign_pile[] =
    "<mujoco><option gravity='0 0 -9.81'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
    "<body name='box' pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body name='ball' pos='.02 0 .5'><freejoint/><geom size='.1'/></body>"
    "<body name='rod' pos='0 .5 1'><joint axis='1 0 0'/><geom type='capsule' size='.05 .2' pos='0 .3 0'/></body>"
    "</worldbody></mujoco>";

bool cal_again(campaign* c, cal_status status, const char* call) {
    if (status == CAL_OK) return false;
    if (status != CAL_NO_MEMORY || failing < 0)
        stop(call, c->error.text[0] != '\0' ? c->error.text : cal_status_text(status));
    const bool has_text = strstr(call, "&c->error") != NULL;
    if (has_text && (c->error.text[0] == '\0' || strchr(c->error.text, '\n') != NULL))
        stop(call, "it does not say so in one line");
    c->failures++;
    return !for_good;
}

void cal_note(campaign* c, const void* bytes, size_t size) {
    for (size_t i = 0; i < size; i++) c->hash = (c->hash ^ ((const unsigned char*)bytes)[i]) * 0x100000001b3U;
}

const char* cal_campaign_path(const campaign* c, const char* name, char path[256]) {
    snprintf(path, 256, "%s/%s", c->folder, name);
    return path;
}

cal_status cal_campaign_model(campaign* c, const char* specification, cal_model** out) {
    if (specification[0] == '<')
        return cal_model_read_memory(specification, strlen(specification), "model", NULL, out, NULL, &c->error);
    return cal_model_generate(specification, out, &c->error);
}

// --- The campaign ------------------------------------------------------------------------------------------------------------

static void run_once(const named_scenario* s, campaign* c, int64_t number, bool ever) {
    now = s->name;
    failing = number;
    for_good = ever;
    const int64_t before = live, faults = failed;
    taken = 0;
    c->hash = 0xcbf29ce484222325U;
    c->failures = 0;
    c->ended = false;
    const cal_status status = s->run(c);
    if (failed > faults) injected++;
    if (live != before) stop("something is lost", "allocations that nobody freed");
    if (number < 0 && status != CAL_OK) stop("it fails by itself", c->error.text);
    if (!ever && status != CAL_OK && !c->ended) stop("it fails though there is memory again", c->error.text);
    if (ever && status != CAL_OK && status != CAL_NO_MEMORY) stop("another status", cal_status_text(status));
    if (ever && failed > faults && status == CAL_OK && c->failures > 0) stop("it ends well", "without memory");
}

// Returns how many faults there were.
static int64_t run_scenario(const named_scenario* s, campaign* c, int64_t most) {
    const int64_t before = injected;
    run_once(s, c, -1, false);
    const uint64_t hash = c->hash;
    const int64_t count = taken, stride = most > 0 ? (count + most - 1) / most : 1;
    for (int64_t number = 0; number < count; number += stride)
        for (int ever = 0; ever < 2; ever++) {
            run_once(s, c, number, ever == 1);
            if (ever == 0 && !c->ended && c->hash != hash) stop("other bits than without a fault", "");
        }
    failing = -1;
    printf("%-28s %8" PRId64 " allocations %8" PRId64 " faults\n", s->name, count, injected - before);
    fflush(stdout);
    return injected - before;
}

int main(int count, char** arguments) {
    int64_t most = 0;
    int first = 1;
    if (count > 2 && strcmp(arguments[1], "--most") == 0) {
        most = atoll(arguments[2]);
        first = 3;
    }
    if (most < 0) {
        fprintf(stderr, "usage: no_memory [--most N] [SCENARIO …]\n");
        return 2;
    }
    const char* folder = cal_test_folder();
    if (folder == NULL) return 2;
    const cal_allocator allocator = {take, give_back, NULL};
    if (cal_set_allocator(&allocator, NULL) != CAL_OK) return 2;
#if !defined(__SANITIZE_ADDRESS__)
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
#endif
    static const named_scenario* const rooms[] = {cal_model_scenarios, cal_plan_scenarios, cal_sim_scenarios,
                                                  cal_world_scenarios, cal_run_scenarios,  cal_device_scenarios};
    int64_t faults = 0;
    int scenarios = 0;
    campaign c = {.folder = folder};
    for (size_t room = 0; room < sizeof rooms / sizeof rooms[0]; room++)
        for (const named_scenario* s = rooms[room]; s->name != NULL; s++) {
            bool wanted = first == count;
            for (int i = first; i < count; i++) wanted = wanted || strstr(s->name, arguments[i]) != NULL;
            if (!wanted) continue;
            faults += run_scenario(s, &c, most);
            scenarios++;
        }
    printf("%d scenarios, %" PRId64 " faults injected: each was said, nothing is lost, nothing has changed\n",
           scenarios, faults);
    return scenarios > 0 ? 0 : 2;
}
