// See block_cholesky.h. Right-looking: when a unit is eliminated, its column is finished and subtracted from all later ones.
//
//     ┌ L                ┐     L_kk L_kkᵀ = A_kk
//     │ .  L             │     L_ik = A_ik L_kk⁻ᵀ              for the rows i of column k
//     │ L_ik .  L        │     A_ij ← A_ij − L_ik L_jkᵀ        for pairs of those rows: where fill comes from
//     └ .    .  .  L     ┘
#include "simulation/contact/block_cholesky.h"
#include <math.h>
#include <string.h>

enum { FREE = 6 }; // degrees of freedom of a free body

double* cal_arena_numbers(cal_arena* arena, size_t count) {
    if (count > arena->left) return NULL;
    double* memory = arena->next;
    arena->next += count;
    arena->left -= count;
    return memory;
}

int32_t* cal_arena_integers(cal_arena* arena, size_t count) {
    return (int32_t*)(void*)cal_arena_numbers(arena, (count + 1) / 2);
}

// --- Who is eliminated when -------------------------------------------------------------------------------------------

static int count_bits(const uint64_t* bits, size_t words) {
    int count = 0;
    for (size_t i = 0; i < words; i++)
        for (uint64_t left = bits[i]; left != 0; left &= left - 1) count++;
    return count;
}

static bool has_bit(const uint64_t* bits, int i) { return bits[i / 64] >> ((unsigned)i % 64) & 1; }
static void set_bit(uint64_t* bits, int i) { bits[i / 64] |= UINT64_C(1) << ((unsigned)i % 64); }
static void clear_bit(uint64_t* bits, int i) { bits[i / 64] &= ~(UINT64_C(1) << ((unsigned)i % 64)); }

// Orders the units that touch others, `linked`, after those that touch nothing, and leaves in `neighbors` of each (numbers in `linked`) those
// that are eliminated after it, fill included.
static void order_units(cal_blocks* m, const int32_t* linked, int count, uint64_t* neighbors, size_t words,
                        int32_t* degree) {
    for (int step = m->units - count; step < m->units; step++) {
        int best = -1;
        for (int i = 0; i < count; i++)
            if (m->place[linked[i]] < 0 && (best < 0 || degree[i] < degree[best])) best = i;
        m->order[step] = linked[best];
        m->place[linked[best]] = step;
        const uint64_t* mine = neighbors + (size_t)best * words;
        for (int i = 0; i < count; i++) {
            if (!has_bit(mine, i)) continue;
            uint64_t* theirs = neighbors + (size_t)i * words;
            for (size_t k = 0; k < words; k++) theirs[k] |= mine[k];
            clear_bit(theirs, i);
            clear_bit(theirs, best);
            degree[i] = count_bits(theirs, words);
        }
    }
}

// Units that touch nothing come first, in their order; the others are listed, and `number` says where. Returns how many these are.
static int find_linked(cal_blocks* m, const int32_t (*pairs)[2], int pair_count, int32_t* number, int32_t* linked) {
    int count = 0;
    for (int i = 0; i < m->units; i++) number[i] = -1;
    for (int k = 0; k < pair_count; k++)
        if (pairs[k][0] != pairs[k][1]) number[pairs[k][0]] = number[pairs[k][1]] = 0;
    for (int i = 0; i < m->units; i++) {
        m->place[i] = number[i] < 0 ? i - count : -1;
        if (number[i] < 0)
            m->order[i - count] = i;
        else
            linked[number[i] = count++] = i;
    }
    return count;
}

static void sort_places(int32_t* places, int count) {
    for (int i = 1; i < count; i++) {
        const int32_t item = places[i];
        int k = i;
        for (; k > 0 && places[k - 1] > item; k--) places[k] = places[k - 1];
        places[k] = item;
    }
}

bool cal_blocks_make(cal_blocks* m, int units, const int32_t* size, const int32_t* first, const int32_t (*pairs)[2],
                     int pair_count, cal_arena* arena) {
    const size_t n = (size_t)units;
    *m = (cal_blocks){.units = units, .size = size, .first = first};
    m->order = cal_arena_integers(arena, n);
    m->place = cal_arena_integers(arena, n);
    m->column = cal_arena_integers(arena, n + 1);
    m->where = cal_arena_integers(arena, n);
    m->diagonal = (int64_t*)(void*)cal_arena_numbers(arena, n);
    if (m->order == NULL || m->place == NULL || m->column == NULL || m->where == NULL || m->diagonal == NULL)
        return false;
    // The graph goes at the far end of the memory, and is forgotten.
    if (arena->left < 2 * n) return false;
    int32_t *number = (int32_t*)(void*)(arena->next + arena->left - n),
            *linked = (int32_t*)(void*)(arena->next + arena->left - 2 * n), *degree = linked + n;
    const int count = find_linked(m, pairs, pair_count, number, linked);
    const size_t words = ((size_t)count + 63) / 64, graph = (size_t)count * words;
    if (arena->left < graph + 2 * n) return false;
    uint64_t* neighbors = (uint64_t*)(void*)(arena->next + arena->left - 2 * n - graph);
    cal_arena front = {arena->next, arena->left - 2 * n - graph};
    memset(neighbors, 0, graph * sizeof *neighbors);
    for (int k = 0; k < pair_count; k++) {
        const int i = number[pairs[k][0]], j = number[pairs[k][1]];
        if (i == j) continue;
        set_bit(neighbors + (size_t)i * words, j);
        set_bit(neighbors + (size_t)j * words, i);
    }
    int64_t entries = 0;
    for (int i = 0; i < count; i++) degree[i] = count_bits(neighbors + (size_t)i * words, words);
    order_units(m, linked, count, neighbors, words, degree);
    for (int i = 0; i < count; i++) entries += count_bits(neighbors + (size_t)i * words, words);
    m->row = cal_arena_integers(&front, (size_t)entries);
    m->at = (int64_t*)(void*)cal_arena_numbers(&front, (size_t)entries);
    if (m->row == NULL || m->at == NULL) return false;
    int32_t entry = 0;
    for (int p = 0; p < units; p++) {
        const int unit = m->order[p];
        m->column[p] = entry;
        for (int i = 0; number[unit] >= 0 && i < count; i++)
            if (has_bit(neighbors + (size_t)number[unit] * words, i)) m->row[entry++] = m->place[linked[i]];
        sort_places(m->row + m->column[p], entry - m->column[p]);
        m->diagonal[p] = m->number_count;
        m->number_count += size[unit] * size[unit];
        for (int32_t e = m->column[p]; e < entry; e++) {
            m->at[e] = m->number_count;
            m->number_count += size[m->order[m->row[e]]] * size[unit];
        }
    }
    m->column[units] = entry;
    // From here on the graph's memory is free.
    const size_t taken = (size_t)(front.next - arena->next);
    arena->next += taken;
    arena->left -= taken;
    m->numbers = cal_arena_numbers(arena, (size_t)m->number_count);
    return m->numbers != NULL;
}

static bool is_passive(const cal_blocks* m, int place) { return m->passive != NULL && m->passive[m->order[place]]; }

void cal_blocks_zero(cal_blocks* m) {
    for (int p = 0; p < m->units; p++) { // a column's numbers follow each other
        const int64_t end = p + 1 < m->units ? m->diagonal[p + 1] : m->number_count;
        if (!is_passive(m, p))
            memset(m->numbers + m->diagonal[p], 0, (size_t)(end - m->diagonal[p]) * sizeof *m->numbers);
    }
}

static int32_t find_entry(const cal_blocks* m, int column, int row) {
    int32_t low = m->column[column], high = m->column[column + 1] - 1;
    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (m->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double* cal_blocks_at(cal_blocks* m, int i, int j, bool* turned) {
    const int p = m->place[i], q = m->place[j];
    *turned = p < q;
    return m->numbers + (p == q ? m->diagonal[p] : m->at[p > q ? find_entry(m, q, p) : find_entry(m, p, q)]);
}

// --- Numbers ----------------------------------------------------------------------------------------------------------

// Of free bodies, whose number the compiler knows.
static void subtract_free(const double* A, const double* B, double* C) {
    double T[FREE * FREE]; // Bᵀ: sums of a row go side by side, each in its own order
    for (int j = 0; j < FREE; j++)
        for (int k = 0; k < FREE; k++) T[k * FREE + j] = B[j * FREE + k];
    for (int i = 0; i < FREE; i++) {
        double sum[FREE] = {0.0};
        for (int k = 0; k < FREE; k++)
            for (int j = 0; j < FREE; j++) sum[j] += A[i * FREE + k] * T[k * FREE + j];
        for (int j = 0; j < FREE; j++) C[i * FREE + j] -= sum[j];
    }
}

// C ← C − A Bᵀ; A: rows × n, B: columns × n.
static void subtract_product(const double* A, const double* B, int rows, int columns, int n, double* C) {
    if (rows == FREE && columns == FREE && n == FREE) {
        subtract_free(A, B, C);
        return;
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) sum += A[i * n + k] * B[j * n + k];
            C[i * columns + j] -= sum;
        }
}

bool cal_blocks_factor(cal_blocks* m) {
    for (int p = 0; p < m->units; p++) {
        if (is_passive(m, p)) continue;
        const int n = m->size[m->order[p]];
        double* D = m->numbers + m->diagonal[p];
        if (!cal_dense_factor(D, n)) return false;
        const int32_t begin = m->column[p], end = m->column[p + 1];
        for (int32_t e = begin; e < end; e++) { // a row of L_ik at a time
            if (is_passive(m, m->row[e])) continue;
            double* block = m->numbers + m->at[e];
            for (int r = 0; r < m->size[m->order[m->row[e]]]; r++) cal_dense_lower(D, n, block + r * n);
        }
        for (int32_t e = begin; e < end; e++) {
            const int column = m->row[e], columns = m->size[m->order[column]];
            if (is_passive(m, column)) continue;
            const double* right = m->numbers + m->at[e];
            subtract_product(right, right, columns, columns, n, m->numbers + m->diagonal[column]);
            for (int32_t k = m->column[column]; k < m->column[column + 1]; k++) m->where[m->row[k]] = k;
            for (int32_t f = e + 1; f < end; f++) {
                const int row = m->row[f];
                if (is_passive(m, row)) continue;
                subtract_product(m->numbers + m->at[f], right, m->size[m->order[row]], columns, n,
                                 m->numbers + m->at[m->where[row]]);
            }
        }
    }
    return true;
}

void cal_blocks_solve(const cal_blocks* m, double* x) {
    for (int p = 0; p < m->units; p++) {
        if (is_passive(m, p)) continue;
        const int unit = m->order[p], n = m->size[unit];
        double* mine = x + m->first[unit];
        cal_dense_lower(m->numbers + m->diagonal[p], n, mine);
        for (int32_t e = m->column[p]; e < m->column[p + 1]; e++) {
            if (is_passive(m, m->row[e])) continue;
            const int other = m->order[m->row[e]];
            const double* block = m->numbers + m->at[e];
            double* theirs = x + m->first[other];
            for (int r = 0; r < m->size[other]; r++)
                for (int c = 0; c < n; c++) theirs[r] -= block[r * n + c] * mine[c];
        }
    }
    for (int p = m->units - 1; p >= 0; p--) {
        if (is_passive(m, p)) continue;
        const int unit = m->order[p], n = m->size[unit];
        double* mine = x + m->first[unit];
        for (int32_t e = m->column[p]; e < m->column[p + 1]; e++) {
            if (is_passive(m, m->row[e])) continue;
            const int other = m->order[m->row[e]];
            const double *block = m->numbers + m->at[e], *theirs = x + m->first[other];
            for (int r = 0; r < m->size[other]; r++)
                for (int c = 0; c < n; c++) mine[c] -= block[r * n + c] * theirs[r];
        }
        cal_dense_upper(m->numbers + m->diagonal[p], n, mine);
    }
}
