// Worlds on ranks: who owns what, and what ranks tell each other (ranks.c, ghosts.c, letters.c, showing.c).
//
// A rank owns domains, always the same ones, and takes only their events: it alone has their event queues, pairs, junctions and logs. Of other
// ranks' components it has *ghosts*, states and boxes, where they are near its own domains; of all others the states that were shown at the end of an
// advance, since when somebody asked for them.
//
//     summary   after a run, to all: extents of domains, counts, how far they have come
//     ghosts    to those near whose domains they are: components whose boxes or states are new
//     wanted    to all: pairs that are to come into one domain, and what stays together with them; all ranks make the same plan
//     letters   to new owners: components that are handed over, with events, pairs, junctions, and what they wrote into the log
//     shown     at the end of an advance: the log to all; components whose states are new to those that ask for them (showing.c)
//
// What is between two of these is done by each rank for its own domains, or by all alike. A rank that fails says so in the next exchange, and all end
// with what it says: so whoever exchanges something is told how the rank has fared, and returns how all have.
#pragma once
#include "plan/machine_ops.h"
#include "simulation/domain/domain.h"
#include "simulation/state/image.h"

enum { CAL_MOST_RANKS = 64 }; // that have domains: a bit each (component.h)

// How many words a rank deposits: states, and all.
typedef struct cal_deposit {
    int64_t states, all;
} cal_deposit;

typedef struct cal_mail {
    int ranks;
    cal_image* out;   // to each rank
    cal_image* in;    // from each rank: until the next exchange
    cal_image own;    // to all
    cal_image* shown; // by each rank, to all: until the next exchange
    cal_image item;   // a component on its way
    // What this rank deposits, and what all have deposited, which others have or have not taken; how much that is; and whether this one has not (showing.c).
    cal_image kept;
    cal_image* deposited;
    cal_deposit* deposits;
    bool pending;
    // Whether what bodies add to reports lies beside it, and whose each body is then, −1: nobody's (measuring.h).
    bool shares;
    int8_t* owners;
    int owner_count;
    // What does not fit on the board that ranks share comes to memory of this one's.
    int board;
    cal_image* taken;
    // Numbers that are shown, where those of each rank are, and room for them.
    double *numbers, *room;
    size_t number_count, room_capacity;
    const double** all;
    // How much goes to each rank, and then how much comes from each; where that is, and where it comes to.
    int* counts;
    const double** sent;
    double** received;
} cal_mail;

cal_status cal_mail_create(cal_domains* d, cal_error* error);
void cal_mail_destroy(cal_domains* d);
void cal_mail_begin(cal_image* image); // to be written
// After an image was read: what came is what was sent.
cal_status cal_rank_check(const cal_image* image, cal_error* error);
static inline bool cal_domain_is_own(const cal_domains* d, int domain) {
    return d->ranks == NULL || domain <= CAL_DOMAIN_WHOLE || d->domains[domain].worker == d->ranks->keep;
}
static inline uint64_t cal_rank_bit(int rank) { return rank < CAL_MOST_RANKS ? UINT64_C(1) << rank : 0; }
// How many ranks have domains: the first ones.
static inline int cal_ranks_at_work(const cal_machine* ranks) {
    return ranks->processors < CAL_MOST_RANKS ? ranks->processors : CAL_MOST_RANKS;
}

// How all ranks have fared, before there is any mail: one may have no memory for it.
cal_status cal_rank_agree_early(cal_machine* ranks, cal_status status, cal_error* error);
// How all ranks have fared: the error of the first that failed, on all.
cal_status cal_rank_agree(cal_domains* d, cal_status status, cal_error* error);
// d->mail->own of all ranks comes to d->mail->shown of each; d->mail->out[r] of each rank to d->mail->in of rank r.
cal_status cal_rank_gather(cal_domains* d, cal_status status, cal_error* error);
cal_status cal_rank_exchange(cal_domains* d, cal_status status, cal_error* error);
// What all know of all domains after this: extents, counts, what is due.
cal_status cal_rank_summarize(cal_domains* d, cal_status status, cal_error* error);
// The first event of all ranks, in place of this one's; and whether the first rank says that the advance shall end.
cal_status cal_rank_first_due(cal_domains* d, double* due, bool* interrupted, cal_status status, cal_error* error);
// Makes the lists of what is wanted, and of what is handed over, one for all (ranks.c). *any: there is something, which all ranks come to alike, also one that
// fails after that.
cal_status cal_rank_share_wanted(cal_domains* d, bool* any, cal_status status, cal_error* error);
cal_status cal_rank_share_handings(cal_domains* d, bool* any, cal_status status, cal_error* error);

// Ghosts (ghosts.c): after a summary, what is new to others, and what comes near to them.
cal_status cal_rank_tell(cal_domains* d, cal_status status, cal_error* error);
// At the end of an advance (showing.c): the log and what was counted to all, and states that somebody does not know to whoever asks for them, or to all. At the
// beginning of the next advance: nobody asks any more, and where all have taken what was shown nothing is new to them.
cal_status cal_rank_show(cal_domains* d, cal_status status, cal_error* error);
void cal_rank_begin_news(cal_domains* d, bool all_taken);
void cal_rank_end_deposits(cal_domains* d);
// Of what is deposited (measuring.h): with room for what bodies add to reports, of which there is nothing yet.
size_t cal_rank_words_with_terms(const cal_domains* d, size_t words);
void cal_rank_begin_terms(cal_domains* d);
// A component, as one of a domain, with its boxes, and states where they are asked for, to an image; and from one: which component it was.
void cal_ghost_put(cal_domains* d, cal_image* image, int component, int domain, bool states);
int cal_ghost_take(cal_domains* d, cal_image* image, cal_error* error);

// Letters (letters.c): what an own component that goes to another rank has in its domain; what a rank takes in. Pairs that come are in d->carried then.
void cal_letters_begin(cal_domains* d);
cal_status cal_letter_write(cal_domains* d, int component, int to, cal_error* error);
void cal_letter_add_pair(cal_domains* d, const cal_carried_pair* pair, int to);
void cal_letter_add_hook(cal_domains* d, int hook, int to);
cal_status cal_letters_send(cal_domains* d, cal_status status, cal_error* error);

// A rank that makes its world whole (divide.c) has no events, pairs and boxes of other ranks' components: made anew from their states.
cal_status cal_rank_rebuild(cal_domains* d, cal_error* error);
// Before an advance: where a rank has made its world whole, all take the first rank's, and divide it anew. All write down collisions that one rank takes.
cal_status cal_rank_restore(cal_world* world, cal_error* error);
