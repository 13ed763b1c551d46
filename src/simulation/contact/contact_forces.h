// Contacts and their forces at the committed time.
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"

// What was found so far.
typedef struct cal_contact_list {
    cal_contact_point* points;
    int count, capacity;
} cal_contact_list;
// Adds the contacts of a group in a step of size h.
cal_status cal_group_list_contacts(cal_world* world, int component, double h, cal_contact_list* list, cal_error* error);
// As cal_world_contacts, with forces of a step of size h.
cal_status cal_contacts_of_step(cal_world* world, double h, cal_contact_point* out, int capacity, int* count,
                                cal_error* error);
