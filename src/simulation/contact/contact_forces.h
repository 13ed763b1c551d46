// Contacts and their forces at the committed time.
#pragma once
#include "simulation/world.h"

// As cal_world_contacts, with forces of a step of size h.
cal_status cal_contacts_of_step(cal_world* world, double h, cal_contact_point* out, int capacity, int* count,
                                cal_error* error);
