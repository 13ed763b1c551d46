// Work that several share, number by number. On a core there is one member, and loops are loops. On a device some threads of a warp
// are the members: of M each has every Mth number, and all wait for each other before one reads what another one has written.
//
//     CAL_ENTRIES(i, n)                     i < n
//     CAL_ENTRIES2(i, n, j, m)              i < n, j < m
//     CAL_SIDES(s)                          s < 2; each member has one s, half of them the same
//     CAL_OWN_ROWS(r, i)                    inside it: rows i < 6; a member has CAL_SIDE_ROWS of them, of which this is number r
//     CAL_ROW_END(i)                        of a symmetric matrix: who has all rows needs i numbers of each, the others whole rows
//     CAL_MIRROR(A, i, j)                   and has the others by symmetry
//     CAL_ENTRIES_LOWER(s, l, i, j)         s < l, j ≤ i < 6
//     CAL_ENTRIES_TRIANGLE(i, j, n)         j ≤ i < n
//     CAL_SET_ENTRIES(i, n, target, value)  target = value for i < n, a number that the compiler knows; all of a member's values are
//                                           found before one is written
//     CAL_COPY_TWO(n, a, to_a, b, to_b)     two lists of n doubles; all of a member's are read before one is written: it waits once
//     CAL_TEAM_WAIT()
//
// Who has a whole row of a matrix waits less for sums than who has one entry after the other. Each number has its sum in its own order,
// so that its bits do not depend on how many share the work.
#pragma once

#ifdef CAL_TEAM_MEMBERS
// Row i of entry e of a lower triangle of six rows, row by row.
CAL_DEVICE static inline int cal_lower_row(int e) { return (e >= 1) + (e >= 3) + (e >= 6) + (e >= 10) + (e >= 15); }
// The same of as many rows as there are.
CAL_DEVICE static inline int cal_triangle_row(int e) {
    int row = cal_lower_row(e);
    while ((row + 1) * (row + 2) / 2 <= e) row++;
    return row;
}
#define CAL_ENTRIES(i, n) for (int i = CAL_TEAM_MEMBER; i < (n); i += CAL_TEAM_MEMBERS)
#define CAL_ENTRIES2(i, n, j, m)                                                                                       \
    CAL_ENTRIES(at_, (n) * (m))                                                                                        \
    for (int i = at_ / (m), j = at_ % (m), once_ = 1; once_; once_ = 0)
#define CAL_ALONE false
#define CAL_SIDES(s) for (int s = CAL_TEAM_MEMBER / (CAL_TEAM_MEMBERS / 2), side_ = 1; side_; side_ = 0)
// Members without a row do what those of the last one do.
#define CAL_SIDE_ROWS 1
#define CAL_OWN_ROWS(r, i)                                                                                             \
    for (int r = 0, at_ = CAL_TEAM_MEMBER % (CAL_TEAM_MEMBERS / 2), i = at_ < 6 ? at_ : 5; r < 1; r++)
#define CAL_ROW_END(i) ((void)(i), 6)
#define CAL_MIRROR(A, i, j) ((void)0)
#define CAL_ENTRIES_LOWER(s, l, i, j)                                                                                  \
    CAL_ENTRIES(at_, (l)*21)                                                                                           \
    for (int s = at_ / 21, i = cal_lower_row(at_ % 21), j = at_ % 21 - i * (i + 1) / 2, once_ = 1; once_; once_ = 0)
#define CAL_ENTRIES_TRIANGLE(i, j, n)                                                                                  \
    CAL_ENTRIES(at_, (n) * ((n) + 1) / 2)                                                                              \
    for (int i = cal_triangle_row(at_), j = at_ - i * (i + 1) / 2, once_ = 1; once_; once_ = 0)
#define CAL_SET_ENTRIES(i, n, target, value)                                                                           \
    do {                                                                                                               \
        enum { EACH_ = ((n) + CAL_TEAM_MEMBERS - 1) / CAL_TEAM_MEMBERS };                                              \
        double found_[EACH_];                                                                                          \
        CAL_UNROLL for (int k_ = 0; k_ < EACH_; k_++) {                                                                \
            const int at_ = CAL_TEAM_MEMBER + k_ * CAL_TEAM_MEMBERS, i = at_ < (n) ? at_ : (n)-1;                      \
            found_[k_] = (value);                                                                                      \
        }                                                                                                              \
        CAL_UNROLL for (int k_ = 0; k_ < EACH_; k_++) {                                                                \
            const int i = CAL_TEAM_MEMBER + k_ * CAL_TEAM_MEMBERS;                                                     \
            if (i < (n)) (target) = found_[k_];                                                                        \
        }                                                                                                              \
    } while (0)
#define CAL_COPY_TWO(n, a, to_a, b, to_b)                                                                              \
    do {                                                                                                               \
        enum { EACH_ = ((n) + CAL_TEAM_MEMBERS - 1) / CAL_TEAM_MEMBERS };                                              \
        double of_a_[EACH_], of_b_[EACH_];                                                                             \
        CAL_UNROLL for (int k_ = 0; k_ < EACH_; k_++) {                                                                \
            const int at_ = CAL_TEAM_MEMBER + k_ * CAL_TEAM_MEMBERS, i_ = at_ < (n) ? at_ : (n)-1;                     \
            of_a_[k_] = (a)[i_], of_b_[k_] = (b)[i_];                                                                  \
        }                                                                                                              \
        CAL_UNROLL for (int k_ = 0; k_ < EACH_; k_++) {                                                                \
            const int i_ = CAL_TEAM_MEMBER + k_ * CAL_TEAM_MEMBERS;                                                    \
            if (i_ < (n)) (to_a)[i_] = of_a_[k_], (to_b)[i_] = of_b_[k_];                                              \
        }                                                                                                              \
    } while (0)
#else
#define CAL_SET_ENTRIES(i, n, target, value)                                                                           \
    do {                                                                                                               \
        for (int i = 0; i < (n); i++) (target) = (value);                                                              \
    } while (0)
#define CAL_COPY_TWO(n, a, to_a, b, to_b)                                                                              \
    do {                                                                                                               \
        for (int i_ = 0; i_ < (n); i_++) (to_a)[i_] = (a)[i_], (to_b)[i_] = (b)[i_];                                   \
    } while (0)
#define CAL_ENTRIES(i, n) for (int i = 0; i < (n); i++)
#define CAL_ENTRIES2(i, n, j, m) CAL_ENTRIES(i, n) CAL_ENTRIES(j, m)
#define CAL_SIDES(s) CAL_ENTRIES(s, 2)
#define CAL_ALONE true
#define CAL_SIDE_ROWS 6
#define CAL_OWN_ROWS(r, i) for (int r = 0, i = 0; r < 6; i = ++r)
#define CAL_ROW_END(i) (i)
#define CAL_MIRROR(A, i, j) ((A)[j][i] = (A)[i][j])
#define CAL_ENTRIES_LOWER(s, l, i, j) CAL_ENTRIES(s, l) CAL_ENTRIES(i, 6) CAL_ENTRIES(j, i + 1)
#define CAL_ENTRIES_TRIANGLE(i, j, n) CAL_ENTRIES(i, n) CAL_ENTRIES(j, i + 1)
#define CAL_TEAM_WAIT() ((void)0)
#endif
