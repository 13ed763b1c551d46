// The table of programs.
#include "pass/pass.h"
#include <string.h>

static const cal_program* const programs[] = {&cal_program_aba,   &cal_program_armstrong, &cal_program_assembly,
                                              &cal_program_rnea,  &cal_program_crba,      &cal_program_kinematics,
                                              &cal_program_energy};
enum { PROGRAM_COUNT = sizeof programs / sizeof programs[0] };

const cal_program* cal_find_program(const char* name) {
    for (int i = 0; name && i < PROGRAM_COUNT; i++)
        if (strcmp(programs[i]->name, name) == 0) return programs[i];
    return NULL;
}

const char* cal_algorithm_name(int index) { return index >= 0 && index < PROGRAM_COUNT ? programs[index]->name : NULL; }
