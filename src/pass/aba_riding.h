// Inbound along a long column with rows that ride along (riding.h), RIDERS of them at most, one per lane. Include after aba_columns.h with
// CAL_LANES = 1, once per number of rows.
#define RIDE_(name, count) name##_##count
#define RIDE__(name, count) RIDE_(name, count)
#define RIDE(name) RIDE__(name, RIDERS)

typedef double RIDE(riders) __attribute__((vector_size(RIDERS * 8)));

// One joint: what is left at it, and what goes on, at its parent's origin. The operations of pass_wrench and pull_wrench (wrench_body.h).
static inline CAL_ALWAYS void RIDE(ride_joint)(int kind, const double* record, const double* response, RIDE(riders) * f,
                                               RIDE(riders) * share) {
    const double *z = record + CAL_ABA_Z * CAL_WIDTH, *d = record + CAL_ABA_D * CAL_WIDTH;
    RIDE(riders)* const felt = kind == CAL_PRISMATIC ? f + 3 : f;
    *share = (z[0] * felt[0] + z[CAL_WIDTH] * felt[1]) + z[2 * CAL_WIDTH] * felt[2];
    const RIDE(riders) part = *share * response[CAL_ABA_OVER * CAL_WIDTH];
    for (int i = 0; i < 6; i++) f[i] -= response[i * CAL_WIDTH] * part;
    f[0] += d[CAL_WIDTH] * f[5] - d[2 * CAL_WIDTH] * f[4];
    f[1] += d[2 * CAL_WIDTH] * f[3] - d[0] * f[5];
    f[2] += d[0] * f[4] - d[CAL_WIDTH] * f[3];
}

static inline CAL_ALWAYS void RIDE(ride_run)(int kind, const cal_context* context, const cal_column* column) {
    const cal_riders* with = context->riders;
    const int record = cal_aba_record(kind);
    int i = cal_step_count_1(column) - 1, touched = 0;
    cal_place_1 at = cal_find_place_1(context, column, kind, record, i);
    cal_articulated_1 I = cal_begin_inbound_1(context, column, &at);
    RIDE(riders) f[6] = {{0.0}};
    for (;;) {
        double* response = cal_find_response_1(context, column, i);
        cal_inbound_1(kind, &I, at.force, at.constants, at.implicit, at.record, response);
        if (i <= with->last) {
            if (touched < with->touched_count && with->touched[touched] == i) {
                RIDE(riders) own;
                for (int k = 0; k < 6; k++) {
                    memcpy(&own, with->wrench[touched][k], sizeof own);
                    f[k] = touched == 0 ? own : own + f[k];
                }
                touched++;
            }
            RIDE(riders) share;
            RIDE(ride_joint)(kind, at.record, response, f, &share);
            for (int r = 0; r < RIDERS; r++)
                if (r < with->count) with->shares[(size_t)r * with->stride + (size_t)i] = share[r];
            with->root[i] = sqrt(response[CAL_ABA_OVER * CAL_WIDTH]);
            with->kept[i] = at.record[CAL_ABA_K * CAL_WIDTH];
        }
        if (--i < 0) break;
        at = cal_find_place_1(context, column, kind, record, i);
        cal_add_own_1(&I, at.constants, at.scratch);
    }
    cal_leave_up_1(context, column, &I);
}

static __attribute__((noinline)) void RIDE(ride_column)(const cal_context* context, const cal_column* column) {
    if (column->kind == CAL_REVOLUTE)
        RIDE(ride_run)(CAL_REVOLUTE, context, column);
    else
        RIDE(ride_run)(CAL_PRISMATIC, context, column);
}
#undef RIDE
#undef RIDE_
#undef RIDE__
#undef RIDERS
