// The list of group integrators, and what they say where something fails.
#include "simulation/contact/group.h"
#include <string.h>

static const cal_group_ops* const integrators[] = {&cal_group_implicit, &cal_group_penalty};

const cal_group_ops* cal_group_find(const char* name) {
    for (size_t i = 0; name != NULL && i < sizeof integrators / sizeof integrators[0]; i++)
        if (strcmp(integrators[i]->name, name) == 0) return integrators[i];
    return NULL;
}

cal_status cal_group_body_failed(const cal_group* group, int body, cal_status status, double time, cal_error* error) {
    char name[64] = "a body";
    if (status == CAL_OK) return CAL_OK;
    return cal_fail(error, status, "%s cannot be followed in its contact group at %g s: %s",
                    group->body_name != NULL ? group->body_name(group, body, name, sizeof name) : name, time,
                    cal_status_text(status));
}

cal_status cal_group_unit_failed(const cal_group* group, int unit, cal_status status, double time, cal_error* error) {
    return cal_group_body_failed(group, group->units[unit].first_body, status, time, error);
}
