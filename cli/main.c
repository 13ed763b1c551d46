// The command `calder`.
#define _POSIX_C_SOURCE 200809L
#include "command.h"
#include "machine.h"
#include <fcntl.h>

// A file that is opened where a standard stream was closed would get what is said there. What is written to a closed standard output
// still fails; what is said to a closed standard error goes nowhere.
static void hold_streams(void) {
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int stream = 0; stream < 3; stream++)
        if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", modes[stream]);
}

int main(int argc, char** argv) {
    hold_streams();
    cal_ranks_start(&argc, &argv);
    return cal_ranks_finish(cal_command_line(argc, argv));
}
