// Running the peer programs: their standard output through a pipe, with a limit on the time.
#define _POSIX_C_SOURCE 200809L
#include "peer_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

#define LIMIT_SECONDS 60.0
#define PATH_CAPACITY 4096

extern char** environ;

const char* cal_peer_name(int index) {
    static const char* const names[] = {"mujoco", "bullet", "simbody", NULL};
    return names[index];
}

bool cal_peer_find(const char* name, char* path, int capacity) {
    static const char* const places[] = {"", "../libexec/calder/"};
    char own[PATH_CAPACITY];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) return false;
    own[length] = '\0';
    *(strrchr(own, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int needed = snprintf(path, (size_t)capacity, "%s%scalder-peer-%s", own, places[i], name);
        if (needed < capacity && access(path, X_OK) == 0) return true;
    }
    return false;
}

// Starts the program with its standard output in a pipe that is returned; -1 when that failed.
static int start(const char* path, const char* model, pid_t* process) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure == 0) {
        failure = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        if (failure == 0) failure = posix_spawn_file_actions_addclose(&actions, ends[1]);
        char program[PATH_CAPACITY], argument[1024], verb[] = "time";
        snprintf(program, sizeof program, "%s", path);
        snprintf(argument, sizeof argument, "%s", model);
        char* arguments[] = {program, verb, argument, NULL};
        if (failure == 0) failure = posix_spawn(process, path, &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failure == 0) return ends[0];
    close(ends[0]);
    errno = failure;
    return -1;
}

// Reads until the program closes its end; false when the limit passed first.
static bool read_all(int descriptor, char* text, size_t capacity) {
    double stop = cal_wall_seconds() + LIMIT_SECONDS;
    size_t used = 0;
    for (;;) {
        double left = stop - cal_wall_seconds();
        if (left <= 0) return false;
        struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
        int ready = poll(&waiting, 1, (int)(1000 * left) + 1);
        if (ready < 0 && errno != EINTR) return false;
        if (ready <= 0) continue;
        char discarded[256];
        bool full = used + 1 >= capacity;
        ssize_t count = read(descriptor, full ? discarded : text + used, full ? sizeof discarded : capacity - 1 - used);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        if (!full) used += (size_t)count;
        text[used] = '\0';
    }
    return true;
}

// The text after "key": in a flat object of ours; NULL when it is not there.
static const char* find_value(const char* text, const char* key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char* found = strstr(text, quoted);
    if (!found) return NULL;
    found += strlen(quoted);
    found += strspn(found, " \t");
    return *found == ':' ? found + 1 + strspn(found + 1, " \t") : NULL;
}

static bool parse(const char* text, cal_peer_result* result) {
    const char* engine = find_value(text, "engine");
    const char* joints = find_value(text, "joints");
    const char* call = find_value(text, "us_per_call");
    const char* joint = find_value(text, "ns_per_joint");
    if (!engine || !joints || !call || !joint || *engine != '"') return false;
    snprintf(result->engine, sizeof result->engine, "%.*s", (int)strcspn(engine + 1, "\""), engine + 1);
    result->joints = (int)strtol(joints, NULL, 10);
    result->us_per_call = strtod(call, NULL);
    result->ns_per_joint = strtod(joint, NULL);
    return result->us_per_call > 0 && result->ns_per_joint > 0;
}

bool cal_peer_time(const char* path, const char* model, cal_peer_result* result, char* reason, int capacity) {
    char text[4096] = "";
    pid_t process;
    int descriptor = start(path, model, &process);
    if (descriptor < 0) {
        snprintf(reason, (size_t)capacity, "could not be started: %s", strerror(errno));
        return false;
    }
    bool in_time = read_all(descriptor, text, sizeof text);
    close(descriptor);
    if (!in_time) kill(process, SIGKILL);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    if (!in_time)
        snprintf(reason, (size_t)capacity, "needed more than %g s", LIMIT_SECONDS);
    else if (WIFSIGNALED(status))
        snprintf(reason, (size_t)capacity, "ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        snprintf(reason, (size_t)capacity, "exit status %d", WEXITSTATUS(status));
    else if (parse(text, result))
        return true;
    else
        snprintf(reason, (size_t)capacity, "gave no result");
    return false;
}
