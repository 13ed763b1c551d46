// The inside of a simulation.
#pragma once
#include "solver/system.h"

struct cal_sim {
    cal_system* system;
};
