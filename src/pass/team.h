// Work that several share, number by number. On a core there is one member, and loops are loops. On a device the threads of a warp
// are the members: each has every 32nd number, and all wait for each other before one reads what another one has written.
//
//     CAL_ENTRIES(i, n)                     i < n
//     CAL_ENTRIES2(i, n, j, m)              i < n, j < m
//     CAL_SIDES(s)                          s < 2; each member has one s, half of them the same
//     CAL_OF_SIDE(i, n)                     inside it: i < n, one member of the half each
//     CAL_SIDE_ENTRIES(s, i, n)             s < 2, i < n: both
//     CAL_ROW_END(i)                        of a symmetric matrix: of one member i + 1; the others have whole rows, of one length
//     CAL_ENTRIES_LOWER(s, l, i, j)         s < l, j ≤ i < 6
//     CAL_TEAM_WAIT()
//
// Who has a whole row of a matrix waits less for sums than who has one entry after the other. Each number has its sum in its own order,
// so that its bits do not depend on how many share the work.
#pragma once

#ifdef CAL_TEAM_MEMBERS
// Row i of entry e of a lower triangle of six rows, row by row.
CAL_DEVICE static inline int cal_lower_row(int e) { return (e >= 1) + (e >= 3) + (e >= 6) + (e >= 10) + (e >= 15); }
#define CAL_ENTRIES(i, n) for (int i = CAL_TEAM_MEMBER; i < (n); i += CAL_TEAM_MEMBERS)
#define CAL_ENTRIES2(i, n, j, m)                                                                                       \
    CAL_ENTRIES(at_, (n) * (m))                                                                                        \
    for (int i = at_ / (m), j = at_ % (m), once_ = 1; once_; once_ = 0)
#define CAL_ALONE false
#define CAL_ROW_END(i) 6
#define CAL_SIDES(s) for (int s = CAL_TEAM_MEMBER / (CAL_TEAM_MEMBERS / 2), side_ = 1; side_; side_ = 0)
#define CAL_OF_SIDE(i, n) for (int i = CAL_TEAM_MEMBER % (CAL_TEAM_MEMBERS / 2); i < (n); i += CAL_TEAM_MEMBERS / 2)
#define CAL_ENTRIES_LOWER(s, l, i, j)                                                                                  \
    CAL_ENTRIES(at_, (l)*21)                                                                                           \
    for (int s = at_ / 21, i = cal_lower_row(at_ % 21), j = at_ % 21 - i * (i + 1) / 2, once_ = 1; once_; once_ = 0)
#else
#define CAL_ENTRIES(i, n) for (int i = 0; i < (n); i++)
#define CAL_ENTRIES2(i, n, j, m) CAL_ENTRIES(i, n) CAL_ENTRIES(j, m)
#define CAL_SIDES(s) CAL_ENTRIES(s, 2)
#define CAL_ALONE true
#define CAL_ROW_END(i) ((i) + 1)
#define CAL_OF_SIDE(i, n) CAL_ENTRIES(i, n)
#define CAL_ENTRIES_LOWER(s, l, i, j) CAL_ENTRIES(s, l) CAL_ENTRIES(i, 6) CAL_ENTRIES(j, i + 1)
#define CAL_TEAM_WAIT() ((void)0)
#endif
#define CAL_SIDE_ENTRIES(s, i, n) CAL_SIDES(s) CAL_OF_SIDE(i, n)
