// Motions of joints that are prescribed on the command line: --move JOINT:key=value,…
#pragma once
#include "command.h"
#include "options.h"

// Replaces a model by one whose joints move as the texts say; complains otherwise. The motions live as long as the process.
int cal_motions_add(const cal_texts* texts, cal_model** model);
