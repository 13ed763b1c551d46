// See share.h.
#include "simulation/share.h"
#include "plan/machine_ops.h"
#include "simulation/world.h"
#include <stdatomic.h>

typedef struct sharing {
    cal_share_task* task;
    void* user;
    int count;
    atomic_int next;
} sharing;

static void do_pieces(void* argument, int processor) {
    (void)processor;
    sharing* s = argument;
    for (int first = atomic_fetch_add(&s->next, CAL_SHARE_PIECE); first < s->count;
         first = atomic_fetch_add(&s->next, CAL_SHARE_PIECE))
        s->task(s->user, first, first + CAL_SHARE_PIECE < s->count ? first + CAL_SHARE_PIECE : s->count);
}

void cal_world_share(const cal_world* world, int count, cal_share_task* task, void* user) {
    cal_machine* machine = world->machine;
    sharing s = {.task = task, .user = user, .count = count};
    atomic_store(&s.next, 0);
    if (machine != NULL && count >= CAL_SHARE_FEW &&
        machine->ops->together(machine, do_pieces, &s, machine->processors) == CAL_OK)
        return;
    task(user, 0, count);
}
