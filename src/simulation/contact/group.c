// The list of group integrators.
#include "simulation/contact/group.h"
#include <string.h>

static const cal_group_ops* const integrators[] = {&cal_group_implicit, &cal_group_penalty};

const cal_group_ops* cal_group_find(const char* name) {
    for (size_t i = 0; name != NULL && i < sizeof integrators / sizeof integrators[0]; i++)
        if (strcmp(integrators[i]->name, name) == 0) return integrators[i];
    return NULL;
}
