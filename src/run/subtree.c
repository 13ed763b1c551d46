// Which bodies hang on a body. Parents may come after their children, so each body asks upwards until somebody knows.
#include "run/subtree.h"

#include <string.h>

double cal_mark_subtree(const cal_model* model, int body, uint8_t* member) {
    const int bodies = cal_model_body_count(model);
    double mass = 0;
    memset(member, 0, (size_t)bodies);
    member[body] = 1;
    for (int i = 0; i < bodies; i++) {
        cal_body_def def;
        int end = i;
        while (end >= 0 && member[end] == 0) {
            cal_model_body(model, end, &def);
            end = def.parent;
        }
        const uint8_t answer = end >= 0 ? member[end] : 2;
        for (int walk = i; walk != end; walk = def.parent) {
            member[walk] = answer;
            cal_model_body(model, walk, &def);
        }
        cal_model_body(model, i, &def);
        if (member[i] == 1) mass += def.mass;
    }
    return mass;
}
