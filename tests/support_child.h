// Calls in a process of their own, which they may end.
#pragma once
#include "support.h"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// Zero in the new process.
static inline pid_t cal_test_begin_child(void) {
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    // cmocka's own handler would go on with the next test.
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t s = 0; s < sizeof signals / sizeof signals[0]; s++) signal(signals[s], SIG_DFL);
    // A minute of its own time: how busy the computer is does not count.
    const struct itimerval minute = {{0, 0}, {60, 0}};
    setitimer(ITIMER_VIRTUAL, &minute, NULL);
    return child;
}

// How it ended, as waitpid says.
static inline int cal_test_end_child(pid_t child) {
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    return result;
}
