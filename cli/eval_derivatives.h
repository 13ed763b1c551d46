// `calder eval --what forward-derivatives` and `inverse-derivatives`.
#pragma once
#include "state_file.h"

#define CAL_FORWARD_DERIVATIVES "forward-derivatives"
#define CAL_INVERSE_DERIVATIVES "inverse-derivatives"

// Prints them; argument: what the model was called. CAL_EXIT_DONE, or complains.
int cal_eval_derivatives(const cal_model* model, const char* argument, const char* what, cal_state_values* at,
                         bool as_json);
