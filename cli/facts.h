// The one summary and the one JSON object of a run, from its list of facts.
#pragma once
#include "calder/calder_run.h"

void cal_facts_print(const cal_facts* report);
void cal_facts_json(const cal_facts* report);
