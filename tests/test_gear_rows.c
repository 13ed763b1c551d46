// Gear's history on its way from a step's end to the next prediction: with rows in registers it has the bits of the method's own formulas,
// taken one after the other, whatever the order does.
#include "base/random.h"
#include "support.h"
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-function"
#include "solver/gear_columns.h"

enum { WIDTH = 4, BLOCKS = 5, SIZE = 2 * WIDTH * BLOCKS };

typedef struct history {
    double rows[VECTOR_COUNT][SIZE], y[SIZE];
} history;

static void fill(history* h, cal_random* random) {
    for (int j = 0; j < VECTOR_COUNT; j++)
        for (int i = 0; i < SIZE; i++) {
            const double x = cal_random_between(random, -1.0, 1.0);
            h->rows[j][i] = x > 0.9 ? 0.0 : x < -0.9 ? -0.0 : x;
        }
    memset(h->y, 0, sizeof h->y);
}

// z ← P z + l e; the order's change; z_j ← r^j z_j; y = (P z)₀, its slope (P z)₁.
static void move_by_formulas(history* h, const double* down) {
    const int old = (int)down[DOWN_OLD_ORDER], order = (int)down[DOWN_ORDER];
    for (int i = 0; i < SIZE; i++) {
        double z[ROWS + 1] = {0}, e = h->rows[CORRECTION][i], factor = 1.0, value = 0.0, slope = 0.0;
        for (int j = 0; j <= old; j++) z[j] = h->rows[j][i];
        for (int k = 0; k < old; k++)
            for (int j = old - 1; j >= k; j--) z[j] += z[j + 1];
        for (int j = 0; j <= old; j++) z[j] += down[DOWN_OLD + j] * e;
        if (down[DOWN_SAVE] != 0.0) h->rows[SAVED][i] = e;
        if (order > old) z[order] = e * down[DOWN_INCREASE];
        for (int j = 2; j < old && order < old; j++) z[j] -= down[DOWN_LOWER + j] * z[old];
        for (int j = 1; j <= order; j++) {
            factor *= down[DOWN_RATIO];
            if (down[DOWN_RATIO] != 1.0) z[j] *= factor;
        }
        for (int j = order; j > 0; j--) value += z[j], slope += j * z[j];
        for (int j = 0; j <= (order > old ? order : old); j++) h->rows[j][i] = z[j];
        h->y[i] = value + z[0];
        h->rows[CORRECTION][i] = slope;
    }
}

static bool same_bits(const double* a, const double* b, int count) {
    for (int i = 0; i < count; i++) {
        uint64_t bits[2];
        memcpy(&bits[0], &a[i], sizeof bits[0]);
        memcpy(&bits[1], &b[i], sizeof bits[1]);
        if (bits[0] != bits[1]) return false;
    }
    return true;
}

static void rows_in_registers_have_the_same_bits(void** state) {
    (void)state;
    int32_t block_y[BLOCKS + 1];
    for (int b = 0; b <= BLOCKS; b++) block_y[b] = 2 * WIDTH * b;
    const cal_layout layout = {.width = WIDTH, .block_y = block_y};
    const cal_column column = {.kind = CAL_REVOLUTE, .first_block = 0, .block_count = BLOCKS};
    cal_random random = {11};
    history own, wanted;
    double* vectors[VECTOR_COUNT];
    for (int j = 0; j < VECTOR_COUNT; j++) vectors[j] = own.rows[j];
    for (int old = 1; old <= LARGEST_ORDER; old++)
        for (int change = -1; change <= 1; change++)
            for (int option = 0; option < 4; option++) {
                double down[DOWN_COUNT] = {[DOWN_MODE] = MODE_PREDICT, [DOWN_COMMIT] = 1.0, [DOWN_OLD_ORDER] = old};
                if (old + change < 1 || old + change > LARGEST_ORDER) continue;
                down[DOWN_ORDER] = old + change;
                down[DOWN_SAVE] = option % 2;
                down[DOWN_RATIO] = option / 2 ? 0.7 : 1.0;
                down[DOWN_INCREASE] = 0.3;
                for (int j = 0; j < ROWS; j++) {
                    down[DOWN_OLD + j] = cal_random_between(&random, 0.1, 1.0);
                    down[DOWN_LOWER + j] = cal_random_between(&random, 0.1, 1.0);
                }
                const cal_solver_context context = {.layout = &layout, .vectors = vectors, .down = down, .y = own.y};
                fill(&own, &random);
                wanted = own;
                gear_prepare(&context, &column);
                move_by_formulas(&wanted, down);
                bool same = same_bits(own.y, wanted.y, SIZE);
                for (int j = 0; j < VECTOR_COUNT; j++) same = same && same_bits(own.rows[j], wanted.rows[j], SIZE);
                if (!same) fail_msg("order %d to %d, option %d: other bits", old, old + change, option);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_in_registers_have_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
