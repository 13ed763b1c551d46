#define _GNU_SOURCE
#include "place.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[CAL_TEST_PATH / 2];

// A process of nobody waits until the last one that has the pipe is gone, be it by SIGKILL, and removes the folder. Programs that a
// test starts do not have the pipe, and whoever reads what the test prints does not wait for this one.
static _Noreturn void remove_later(int end_of_pipe) {
    const int nowhere = open("/dev/null", O_RDWR);
    setsid();
    if (fork() != 0) _exit(0);
    if (nowhere < 0 || dup2(end_of_pipe, 0) < 0 || dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0) _exit(1);
    // It does not load what a test has others load (LD_PRELOAD), and is in nobody's way.
    char* const nothing[] = {"PATH=/usr/bin:/bin", NULL};
    if (chdir("/") == 0) execle("/bin/sh", "sh", "-c", "cat; rm -rf -- \"$0\"", folder, (char*)NULL, nothing);
    _exit(1);
}

const char* cal_test_folder(void) {
    if (folder[0]) return folder;
    const char* base = getenv("TMPDIR");
    int ends[2];
    const int length = snprintf(folder, sizeof folder, "%s/calder-test-XXXXXX", base && base[0] ? base : "/tmp");
    if (length < 0 || (size_t)length >= sizeof folder) {
        errno = ENAMETOOLONG;
    } else if (mkdtemp(folder)) {
        if (pipe2(ends, O_CLOEXEC) != 0) return folder;
        const pid_t child = fork();
        if (child == 0) remove_later(ends[0]);
        close(ends[0]);
        if (child > 0) waitpid(child, NULL, 0);
        return folder;
    }
    folder[0] = '\0';
    return NULL;
}

const char* cal_test_path(char path[CAL_TEST_PATH], const char* name) {
    if (!cal_test_folder()) {
        perror("a folder for the test's files");
        _exit(2);
    }
    snprintf(path, CAL_TEST_PATH, "%s/%s", folder, name);
    return path;
}
