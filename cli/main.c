// The command `calder`.
#include "command.h"
#include "machine.h"

int main(int argc, char** argv) {
    cal_ranks_start(&argc, &argv);
    return cal_ranks_finish(cal_command_line(argc, argv));
}
