// Long runs: soak [--hours H] [mobile] [world] [viewer], 24 simulated hours each. Memory must not grow with time, the error of the energy
// balance must stay what the tolerance justifies, and a run that is resumed from the middle must end in the same bits. `make soak`
// has all of it, `make test` some minutes of simulated time.
#define _GNU_SOURCE
#include "calder/calder_view.h"
#include "place.h"
#include <arpa/inet.h>
#include <malloc.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FRAMES = 2000 };                 // of a soak; memory is looked at after each of them
enum { NAP = 2000, MOST_NAPS = 10000 }; // µs; naps until the first answer
// A tenth of the time fills what is filled once, and what lasting growth took by then it would take nine times more by the end. What an
// event needs for a moment varies: by less than all that there is.
static const double MOST_GROWTH = 2.0;

typedef struct soak {
    const char *name, *model, *world; // one of the two
    double tolerance;
    bool watched;
} soak;
// Small enough for a day in a minute. The tolerance keeps the drift of a day below what is exchanged.
static const soak soaks[] = {
    {"mobile", "mobile:s=1,l=2,o=2", NULL, 1e-9, false},
    {"world", NULL, "atoms:n=5,fill=0.05", 1e-4, false},
    {"viewer", "pendulum", NULL, 1e-9, true},
};

static int fail(const soak* s, const char* what, const char* why) {
    fprintf(stderr, "soak: %s: %s: %s\n", s->name, what, why);
    return 1;
}

static cal_status make_world(void* user, cal_world** out, cal_error* error) {
    const cal_world_def def = cal_default_world_def();
    return cal_world_generate(((const soak*)user)->world, &def, out, error);
}

static cal_status open_run(const soak* s, cal_model** model, cal_run** out, cal_error* error) {
    cal_status status = CAL_OK;
    *model = NULL;
    if (s->world) {
        soak* copy = (soak*)(uintptr_t)s; // only read
        status = cal_run_create_world(make_world, copy, out, error);
    } else {
        cal_run_sim_def def = cal_default_run_sim_def();
        def.sim.relative = def.sim.absolute = s->tolerance;
        status = cal_model_generate(s->model, model, error);
        if (!status) status = cal_run_create_sim(*model, &def, out, error);
    }
    return status ? status : cal_run_begin(*out, false, NULL, error);
}

// --- Somebody who looks on ---------------------------------------------------------------------------------------------------------

typedef struct client {
    pthread_t thread;
    int socket;
    atomic_llong received;
} client;

static void* look_on(void* argument) {
    client* c = argument;
    char bytes[65536];
    for (ssize_t count; (count = recv(c->socket, bytes, sizeof bytes, 0)) > 0;) {
        atomic_fetch_add(&c->received, count);
        // A page says which frame has arrived; the next ones are sent then. The mask of its message is 0.
        unsigned char arrived[10] = {0x82, 0x84};
        const char* frame = memmem(bytes, (size_t)count, "CALF", 4);
        if (!frame || frame + 8 > bytes + count) continue;
        memcpy(arrived + 6, frame + 4, 4);
        (void)send(c->socket, arrived, sizeof arrived, MSG_NOSIGNAL);
    }
    return NULL;
}

static bool begin_client(client* c, int port) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[512];
    snprintf(request, sizeof request,
             "GET /live HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Protocol: calder\r\nOrigin: http://127.0.0.1:%d\r\n\r\n",
             port, port);
    c->socket = socket(AF_INET, SOCK_STREAM, 0);
    return c->socket >= 0 && connect(c->socket, (const struct sockaddr*)&address, sizeof address) == 0 &&
           send(c->socket, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request) &&
           pthread_create(&c->thread, NULL, look_on, c) == 0;
}

static void end_client(client* c) {
    shutdown(c->socket, SHUT_RDWR);
    pthread_join(c->thread, NULL);
    close(c->socket);
}

// --- A soak --------------------------------------------------------------------------------------------------------------------------

typedef struct memory {
    size_t early, most; // bytes in use, of the first tenth and of all
} memory;

static void note_memory(memory* m, int frame) {
    const struct mallinfo2 now = mallinfo2();
    const size_t used = now.uordblks + now.hblkhd;
    if (used > m->most) m->most = used;
    if (10 * frame <= FRAMES) m->early = m->most;
}

// To the end, from a frame on; saves a checkpoint in the middle where path is given.
static cal_status advance(cal_run* run, cal_viewer* viewer, double time, int from, const char* path, memory* m,
                          cal_error* error) {
    cal_status status = CAL_OK;
    for (int i = from; i < FRAMES && !status; i++) {
        cal_energy_balance balance;
        status = cal_run_advance(run, time * (double)(i + 1) / FRAMES, error);
        if (!status && viewer) status = cal_viewer_show(viewer, error);
        if (!status && cal_run_can(run, CAL_RUN_BALANCE)) status = cal_run_balance(run, &balance, error);
        if (!status && path && 2 * (i + 1) == FRAMES) status = cal_run_save(run, path, error);
        if (m) note_memory(m, i + 1);
    }
    return status;
}

static int check_balance(const soak* s, cal_run* run, double* relative, double* justified) {
    cal_error error = {CAL_OK, ""};
    cal_energy_balance balance;
    if (cal_run_balance(run, &balance, &error) != CAL_OK) return fail(s, "the balance", error.text);
    *relative = fabs(balance.relative);
    *justified = balance.justified;
    return isfinite(*relative) && *relative <= *justified
               ? 0
               : fail(s, "the balance", "its error is larger than justified");
}

static int run_again(const soak* s, double time, const char* path, uint64_t expected) {
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    cal_run* run = NULL;
    cal_status status = open_run(s, &model, &run, &error);
    if (!status) status = cal_run_restore(run, path, &error);
    if (!status) status = advance(run, NULL, time, FRAMES / 2, NULL, NULL, &error);
    const bool same = !status && cal_run_hash(run) == expected;
    cal_run_destroy(run);
    cal_model_destroy(model);
    return same ? 0 : fail(s, "resumed from the middle", status ? error.text : "it ends in other bits");
}

static int watch(const soak* s, double time, const char* path) {
    cal_error error = {CAL_OK, ""};
    cal_model* model = NULL;
    cal_run* run = NULL;
    cal_viewer* viewer = NULL;
    client c = {.socket = -1};
    memory m = {0, 0};
    double relative = 0.0, justified = 0.0;
    const cal_viewer_def def = cal_default_viewer_def();
    cal_status status = open_run(s, &model, &run, &error);
    if (!status && s->watched) status = cal_viewer_create(run, &def, &viewer, &error);
    const bool watched = !status && s->watched && begin_client(&c, cal_viewer_port(viewer));
    // The run is fast: whoever looks on shall be there from the begin.
    for (int naps = 0; watched && !status && atomic_load(&c.received) == 0 && naps < MOST_NAPS; naps++) {
        status = cal_viewer_show(viewer, &error);
        usleep(NAP);
    }
    if (!status) status = advance(run, viewer, time, 0, path, &m, &error);
    if (watched) end_client(&c);
    int result = status ? fail(s, "it ends", error.text) : 0;
    if (!result && s->watched && atomic_load(&c.received) == 0) result = fail(s, "who looks on", "got nothing");
    if (!result) result = check_balance(s, run, &relative, &justified);
    if (!result && (double)m.most > MOST_GROWTH * (double)m.early) result = fail(s, "memory", "it grows with time");
    const uint64_t hash = result ? 0 : cal_run_hash(run);
    cal_viewer_destroy(viewer);
    cal_run_destroy(run);
    cal_model_destroy(model);
    if (!result) result = run_again(s, time, path, hash);
    if (!result)
        printf("%-8s %8.3f h  memory %zu bytes in the first tenth, %zu at most  balance %.1e of %.1e  sent %lld bytes  "
               "hash %016llx, resumed the same\n",
               s->name, time / 3600.0, m.early, m.most, relative, justified, (long long)atomic_load(&c.received),
               (unsigned long long)hash);
    return result;
}

int main(int argc, char** argv) {
    double hours = 24.0;
    int first = 1, result = 0;
    char path[CAL_TEST_PATH];
    if (argc > 2 && strcmp(argv[1], "--hours") == 0) hours = strtod(argv[2], NULL), first = 3;
    if (!(hours > 0.0 && hours < 1e5)) return fprintf(stderr, "soak: --hours must be a number above 0\n"), 2;
    cal_test_path(path, "soak.checkpoint");
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof soaks / sizeof *soaks; i++) {
        bool wanted = first >= argc;
        for (int k = first; k < argc; k++) wanted = wanted || strcmp(argv[k], soaks[i].name) == 0;
        if (wanted && soaks[i].watched && !cal_viewer_available()) continue;
        if (wanted && watch(&soaks[i], 3600.0 * hours, path) != 0) result = 1;
    }
    return result;
}
