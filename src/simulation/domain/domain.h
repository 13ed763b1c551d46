// Worlds divided among processors: domains, each with a worker.
//
// A domain has components, and everything that their events need: an event queue, a table of pairs, a broad phase, junctions, a log,
// scratch. It is a cal_world that shares the lists of bodies and components with the whole. What two domains have in common are
// pairs of bodies of which each has one: the border, in which nothing happens.
//
//     time   T ──────────────── window ──────────────── T + w
//     domain 1  ●──●────●──────────●────────●───────────▸        run: every domain takes its own events in order, all at the same
//     domain 2  ───●──●───────●───────●──────●──────────▸        time (run.c)
//     border        ╎    ╳                                       meet: pairs of the border are predicted anew. Of two that collide
//                                                                in the window one is handed over to the other's domain, with all
//                                                                that it is linked to (border.c, hand_over.c); run again
//
// Nothing is undone for that but by the state graph: a pair that comes into a domain has its collision in the past of its bodies,
// which go back there, with what came from them. When no pair of the border collides before T + w, what is before is final. What a
// motion is after a state, and when a pair collides, are functions of states alone: so neither the domains, nor the length of the
// window, nor who is ahead of whom, changes a bit of what is committed.
//
// Contact groups decide who joins them from states that nothing links them to. Where the motion of a body changes before such a decision of a
// group near it, the decision is made again; a body of another domain that would have joined comes into the group's domain (reconsider.c).
#pragma once
#include "base/error.h"
#include "calder/calder_world.h"
#include "collide/collide.h"
#include "simulation/component.h"
#include "simulation/event/fetch.h"
#include "simulation/event/pairs.h"
#include "simulation/world.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

static const cal_box cal_box_of_nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static inline void cal_box_extend(cal_box* box, const cal_box* other) {
    for (int i = 0; i < 3; i++) {
        if (other->low[i] < box->low[i]) box->low[i] = other->low[i];
        if (other->high[i] > box->high[i]) box->high[i] = other->high[i];
    }
}

// Domains of each processor, where there are gaps. A run that takes them in turn ends at most one domain later than if everything were divisible:
// a fourth of what a processor does.
enum { CAL_TURNS = 4 };

enum { CAL_DOMAIN_WHOLE = 0, CAL_DOMAIN_BORDER = -1 }; // domains have the numbers from 1 on

struct cal_multibody_model;

// What a domain keeps of a fixed or driven body, as cal_presence says.
typedef struct cal_prescribed {
    double box_end;
    int box_event;
    int pair_count, pair_capacity;
    int* pairs;
} cal_prescribed;

// A component that goes to another domain.
typedef struct cal_handing {
    int component, to;
} cal_handing;

// Two bodies of different domains whose boxes overlap, found by one of them; their pair, −1: it is new; what it is to be predicted from; and
// what was found. The first decision of a group of each that was missed by the other one, infinite: none.
typedef struct cal_border_find {
    int body, other, pair;
    double from;
    bool done, looked;
    cal_prediction prediction;
    double missed[2];
} cal_border_find;

enum { CAL_LOOK_SLICES = 32 };

// A noted body that may be near others, and its box.
typedef struct cal_outer {
    int body;
    cal_box box;
} cal_outer;

// What the noted bodies of two domains overlap in the other one: looked for by one worker, when both domains have run (border.c).
typedef struct cal_border_look {
    int domain[2];
    int keeper; // of their pairs
    cal_border_find* finds;
    int find_count, find_capacity;
    int64_t checks, predictions;
    cal_broad_scratch scratch;
    // What the other domain has near the boxes that are looked at, where these are several, in slices along an axis: where they begin, how long they are, and
    // the longest box (overlaps.c); what one of them overlaps.
    bool sliced;
    cal_outer *near, *sorted;
    int near_count, near_capacity, sorted_capacity;
    int axis, slices[CAL_LOOK_SLICES + 1];
    double from, per_length, widest;
    cal_broad_ids found;
    bool failed; // no memory
} cal_border_look;

// Two bodies that are to come into one domain, and the domains in whose regions they are. missed: when a group of the first one decided without the second,
// which would have joined; infinite: they collide.
typedef struct cal_wanted {
    int body[2], home[2];
    double missed;
} cal_wanted;

// A pair of bodies on its way to another table: that of a domain, or the border's.
typedef struct cal_carried_pair {
    int body[2], home;
    bool hit, off, open;
    double time;
} cal_carried_pair;

// A body that has left the region of its domain, and the domain whose region it is in.
typedef struct cal_stray {
    int body, to;
} cal_stray;

// A body on its way to another domain: when its box ends, and the box, where it has those.
typedef struct cal_departure {
    int component, from, to;
    bool boxed, there;
    double due;
    cal_box box;
} cal_departure;

typedef struct cal_domain {
    _Alignas(64) cal_world* world; // what its worker writes shares no cache line with another one
    atomic_int taken;              // by a worker, in the present run
    cal_box region;                // what has its centre here belongs to the domain
    cal_box extent;                // holds the boxes of all its bodies
    cal_box shown;                 // the same when domains last met: others may look at it while this one runs
    int renewed;                   // boxes, since the extent was measured
    int* members;                  // components that have bodies
    int member_count, member_capacity;
    struct cal_multibody_model** engines; // of models, one each: they are used by one caller at a time
    int engine_count, engine_capacity;
    cal_status status;
    cal_error error;
    bool starved;            // wants places for components
    bool goes_on;            // in the next run, with what it has not come to in this window
    double spent;            // processor time of its last task, s
    double cost;             // of its events in the last window, s
    double next_cost;        // of those in the present one
    int worker;              // whose turn it is first
    int runner;              // the worker that has taken it in this run
    double spared;           // of a world that is priced: of `spent`, what it does not take with help (help.c)
    int64_t events;          // since the world was divided
    int64_t work, seen_work; // of its events since the world was divided, and at the last look at the loads (run.c)
    double load;             // between two looks
    // Of a world on ranks (ranks.h), as all know it: places for components in store, members of the largest group where these are too few; the extent when
    // domains last met, and whether it is larger now.
    int places, most_members;
    cal_box before;
    bool grown;
    // For the border: the pairs of it that it keeps, pairs, or finds, that one core has to see to, of how many noted bodies the box is in the extent, those of
    // them that are not inside of a box that no other domain came to when all last met, domains that are near, who has left the region, and scratch of a search.
    cal_world* border;
    int *later, later_count, later_capacity;
    int extended_count;
    cal_outer* outer;
    int outer_count, outer_capacity;
    cal_box core;
    bool ran;      // in this run, to its end
    bool seen_due; // what is due of the pairs that it keeps has been looked at, as far as it can be along with others
    int *near, near_count, near_capacity;
    cal_stray* strays;
    int stray_count, stray_capacity;
    cal_broad_scratch scratch;
    // Of a division: places without bodies, bodies that move and those of balls among its share of all (divide.c); components that come, those of which
    // states or a log are linked to others, and pairs with other domains (scatter.c).
    int place_count, moving, balls;
    int *coming, coming_count, coming_capacity;
    int *linked, linked_count, linked_capacity;
    cal_carried_pair* crossing;
    int crossing_count, crossing_capacity;
    // Of an exchange (exchange.c): departures of bodies that leave (`coming`: that come); pairs that it kept for the border which are in one domain now.
    int *leaving, leaving_count, leaving_capacity;
    cal_carried_pair* released;
    int released_count, released_capacity;
} cal_domain;

typedef struct cal_domains {
    cal_world* whole;
    cal_domain* domains; // [1 … capacity]
    int count;      // in use: more than there are processors, which take them in turn (turns.c), where there are gaps
    int capacity;   // that there is room for
    int turns;      // of these for each processor
    int processors; // that it is divided among
    int workers;    // threads that run domains at the same time
    int* order;     // numbers of domains, the most expensive first
    double* loads;  // of processors: scratch of turns
    cal_world* border;                                      // for whoever looks across: the share of the first domain
    int *prescribed, prescribed_count, prescribed_capacity; // fixed and driven bodies
    int group_places;    // components that have no bodies of their own: in store, or groups
    bool calls_together; // there are callbacks of several bodies
    bool divided;        // bodies are in the domains; otherwise in the whole
    bool grouping;       // there were contact groups
    bool by_formula;     // the impacts of most bodies that move are found so: they are balls
    bool given;          // the length of windows was given
    double window;       // its length now
    bool cut_short;      // the present one, by the end of an advance
    // A world that is not worth dividing is on one core until a time; then for longer. What the last look at that has seen.
    double alone_until, alone_for;
    bool priced; // it is divided in any case, and the time of components is measured (price.c)
    int64_t seen_windows;
    double seen_first_s, seen_busiest_s, seen_between_s;
    double begin; // where the present one began
    // Of looks at the loads of domains: the window of the last one, how many windows the next one is away, how uneven loads were
    // when regions were made anew, 0: they were not; and how often they were.
    int64_t balanced, patience, divisions;
    double uneven;
    pthread_mutex_t calling; // one callback at a time
    // Scratch: what is handed over, bodies that are looked at, and marks of components.
    cal_handing* handings;
    int handing_count, handing_capacity;
    cal_departure* departures;
    int departure_count, departure_capacity;
    cal_carried_pair* carried; // pairs that are between two domains
    int carried_count, carried_capacity;
    cal_wanted* wanted; // pairs that are to come into one domain
    int wanted_count, wanted_capacity;
    int *cluster, cluster_count, cluster_capacity;
    struct cal_clusters* found; // what stays together, while a world is divided (halve.h)
    struct cal_halving* halving;
    int *mark, mark_capacity; // of each component
    bool* moves;              // of each body: it is being handed over
    int moves_capacity;
    int marked;
    // Components that came into one domain in this window stay together until its end: rings of 1 + the next one, 0: alone.
    int *ring, ring_capacity;
    int *joined, joined_count, joined_capacity;
    int *called, called_capacity; // those that share callbacks: rings alike, until the world is whole again
    int64_t round;                // of looks at the border: bodies with this number are noted
    // Looks from one domain into another, while domains run and after that; whether they were taken while domains ran.
    cal_border_look* looks;
    int look_capacity;
    bool looked;
    bool ran; // domains meet after a run, and not before it
    // What it took, with the processor time of domains, of the busiest of each run, and in between.
    int64_t windows, runs, handed;
    double domains_s, busiest_s, between_s;
    double border_s, divide_s;       // of domains, without events; of one core, to divide the world
    double together_s;               // elapsed, of all runs
    int64_t meetings, seen_meetings; // of threads, one after each task of all
    double meeting_s;                // that one takes at least, beside what the busiest does
    // Of a world on ranks (ranks.h): bodies that all domains have noted; whether what stays together is known to all, in rings alone; what this rank's domains
    // have counted and written down since the last advance; when a domain failed.
    cal_machine* ranks; // NULL: there is one
    struct cal_mail* mail;
    int64_t noted;
    bool planned;
    cal_world_report counted;
    cal_event_log committed;
    double failed_at;
    // Processor time: of own domains and waiting, since the last summary; that all have seen, of own domains, of the busiest rank of each run, and of everything
    // else; and the clock at the last summary.
    double own_s, waited_s, shown_s, rank_busiest_s, rank_other_s, rank_mark;
    double first_s; // of domains, in the first run of each window
    // Of a world that is priced: processor time of components in this window, which of them have some, that of the busiest component of each window, and
    // the clock after the last event.
    double* component_s;
    int component_s_count;
    int *timed, timed_count, timed_capacity;
    double largest_s, clock;
    // Of help for busy domains (help.c): what each worker offers; whether workers help in this run, how many of them have domains left to take, and how many have
    // none; what help took so far. Of a world that is priced: what help would spare, and any number of helpers.
    struct cal_offer* offers;
    bool helps;
    double helped_s; // in the last run
    double spared_s, spared_most_s;
    double end; // of a run
    void (*task)(struct cal_domains* d, int domain);
    // What workers tell each other while domains run, apart from what they read for each event: of help as above; looks that can be taken, those that a worker
    // has taken, what they took; and for who has run, to see who else has.
    _Alignas(64) atomic_int at_work, idle;
    atomic_llong helped_ns, looked_ns;
    _Alignas(64) atomic_int look_count, looks_taken;
    pthread_mutex_t meeting;
} cal_domains;

// Whether a world is to be divided: it has a machine with several processors that share memory, and enough to do.
bool cal_world_is_divided(const cal_world* world);
// As cal_advance_timewarp, of a divided world.
cal_status cal_advance_domains(cal_world* world, double* time, cal_error* error);
// All bodies are in the whole again: for whoever changes or copies a world. Nothing to do where they are.
cal_status cal_world_gather(cal_world* world, cal_error* error);
void cal_domains_destroy(cal_world* world);
// For tests: so many domains, and windows of a length, 0: as usual, whatever the size of a world.
cal_status cal_world_divide(cal_world* world, int domains, double window, cal_error* error);

// --- For events ---------------------------------------------------------------------------------------------------------------

// A body of a domain has a new box; its motion is another one from a time on. Nothing in a world that is not divided.
cal_status cal_domain_note_box(cal_world* world, int body, cal_error* error);
cal_status cal_domain_note_change(cal_world* world, int body, double time, cal_error* error);
// Before and after a callback of the user.
void cal_domain_begin_call(cal_world* world);
void cal_domain_end_call(cal_world* world);
// Groups near a body that have decided after a time, or at it, who joins them decide again (reconsider.c).
cal_status cal_domain_reconsider(cal_world* world, int body, double time, bool inclusive, cal_error* error);
// The first decision from a time on of the groups that a body was in from which another one, of another domain, would have joined because of it;
// infinite: none. Groups that a body is in decide again from a time on (reconsider.c).
cal_status cal_domain_find_missed(cal_world* world, int member, int other, double from, double* out, cal_error* error);
cal_status cal_domain_decide_again(cal_world* world, int member, double time, cal_error* error);

// --- What the files about domains share -----------------------------------------------------------------------------------------

// For so many processors, of which each has so many domains at most.
cal_status cal_domains_create(cal_world* whole, int processors, int turns, int workers, cal_error* error);
// What the whole and its domains have in common, after it has changed.
void cal_domains_share(cal_domains* d);
// Domains write down collisions where the whole does.
void cal_domains_keep_events(cal_domains* d);
// Gives components of the whole to domains (divide.c); d->divided is false afterwards where nearly all must stay together.
cal_status cal_domains_divide(cal_domains* d, cal_error* error);
// At the beginning of a window: new regions where loads are uneven; who is in another one then migrates (divide.c).
cal_status cal_domains_balance(cal_domains* d, cal_status status, cal_error* error);
// Whether a component of a domain is a member of a group there: of another domain's group it may not be known what it is now (cluster.c).
bool cal_domain_group_has(const cal_world* world, int group, int component);
// Makes d->cluster a component and all that must stay with it (cluster.c).
cal_status cal_domains_collect(cal_domains* d, int component, cal_error* error);
// The same for one of several, whose list begins at a place in d->cluster.
cal_status cal_domains_collect_from(cal_domains* d, int component, int first, cal_error* error);
// Puts one component into d->cluster, unless it is marked; whether nothing stays with it.
cal_status cal_domains_add_to_cluster(cal_domains* d, int component, cal_error* error);
bool cal_domains_are_alone(const cal_domains* d, int component);
cal_status cal_domains_reserve_marks(cal_domains* d, cal_error* error); // d->mark is as long as there are components
// From now on to the end of the window two components stay together.
cal_status cal_domains_tie(cal_domains* d, int a, int b, cal_error* error);
void cal_domains_untie(cal_domains* d);
// Finds who shares a callback with whom: d->called, d->calls_together.
cal_status cal_domains_find_calls(cal_domains* d, cal_error* error);
// Lists a component among the members of its domain; false: no memory; and no longer (domains.c).
bool cal_domain_list_member(cal_domains* d, int component);
void cal_domain_unlist_member(cal_domains* d, int component, int domain);
// Keeps a body of a domain that has left its region, false: no memory; gives those that were kept to the domain where they are (migrate.c).
bool cal_domain_keep_stray(cal_domains* d, int domain, int body, const cal_box* box);
bool cal_domain_add_stray(cal_domain* own, int body, int to);
cal_status cal_domains_migrate(cal_domains* d, cal_status status, cal_error* error);
int cal_domain_home_of(const cal_domains* d, int body); // the domain in whose region it is
// Lists a component that goes to a domain in d->handings, which are then handed over with their boxes, pairs, events, states and engines.
cal_status cal_domains_add_handing(cal_domains* d, int component, int to, cal_error* error);
cal_status cal_domains_hand_over(cal_domains* d, cal_status status, cal_error* error);
cal_status cal_domains_hand_home(cal_domains* d, cal_error* error); // to the whole
// The same for those that are free bodies, by all workers; others are left in d->handings (exchange.c).
cal_status cal_domains_exchange(cal_domains* d, cal_error* error);
bool cal_domains_can_exchange(const cal_domains* d,
                              int component); // it is such a body, of which nothing could be undone
// Parts of that: takes a pair out of its table; where it belongs, by its bodies; puts it there. A body that has come with its box.
bool cal_domains_carry(cal_world* from, int pair, int home, cal_carried_pair** list, int* count, int* capacity);
int cal_domains_home(const cal_domains* d, const int body[2]);
cal_status cal_domains_put_pair(cal_domains* d, const cal_carried_pair* pair, cal_error* error);
// Bodies of a component are marked as being handed over, or no longer. Pairs of the border that a domain keeps, of such bodies, which are of one domain
// afterwards, or another one's to keep, are released; false: no memory.
bool cal_domains_mark_moves(cal_domains* d, int component, bool moves);
bool cal_domain_release(cal_domains* d, cal_domain* own);
cal_status cal_domain_welcome(cal_domains* d, cal_world* to, int body, const cal_box* box, cal_error* error);
// And: a multibody gets an engine of its new domain; callbacks go where the first of their bodies that moves is, those of none
// to the domain `without`.
cal_status cal_multibody_hand_over(cal_domains* d, struct cal_multibody* m, int to, cal_error* error);
cal_status cal_domains_hand_over_hooks(cal_domains* d, int without, cal_error* error);
// Gives all components of the whole to the domains that have them in their lists of what comes: these take what is theirs at the same time
// (scatter.c).
cal_status cal_domains_scatter(cal_domains* d, cal_error* error);
// A domain gets its own boxes of fixed and driven bodies, each as it is in the whole (divide.c).
cal_status cal_domain_copy_box(const cal_world* from, cal_broad* to, int body);
cal_status cal_domain_place_prescribed(cal_domains* d, cal_world* view, cal_error* error);
// Which worker takes which domain, and in which order, by what they cost in the last window; then a task for a worker's own domains and
// those that nobody has come to; how long the last tasks take so many processors (turns.c).
void cal_domains_begin_turns(cal_domains* d); // of new domains
void cal_domains_take_turns(cal_domains* d);
void cal_domains_run_some(cal_domains* d, int worker, void (*run)(cal_domains* d, int domain, int worker));
double cal_domains_span(const cal_domains* d);
double cal_domains_span_of_loads(const cal_domains* d); // the same of what they did since the last look
// Runs a task for every domain of this rank, or of all, on all workers (run.c); the first error of them.
typedef void cal_domain_task(cal_domains* d, int domain);
cal_status cal_domains_run(cal_domains* d, cal_domain_task* task, cal_error* error);
cal_status cal_domains_run_all(cal_domains* d, cal_domain_task* task, cal_error* error);
cal_status cal_domains_run_looks(cal_domains* d, cal_error* error); // nothing but looks across the border
// At the end of an advance: bodies are followed to it, and that is counted, by all workers (run.c).
cal_status cal_domains_follow(cal_domains* d, cal_error* error);
// So many of so many processors are worth having; divides a world among so many, of which each gets up to so many domains; whether that has
// been worth it since the last look (run.c).
int cal_domains_worth(const cal_world* world, int processors);
cal_status cal_world_divide_among(cal_world* world, int processors, int turns, cal_error* error);
bool cal_domains_pay(cal_domains* d);
void cal_world_add_report(cal_world_report* to, cal_world_report* from); // which is nothing then
// An event's work in parts that have nothing to do with each other, which are done by the worker of a domain and by those that have nothing left to do in this run
// (help.c). Whether there is anybody who helps: otherwise parts are not worth making.
typedef void cal_part_task(void* user, int part);
void cal_domain_share_out(const cal_world* world, int count, cal_part_task* task, void* user);
bool cal_domain_has_help(const cal_world* world);
cal_status cal_domains_begin_help(cal_domains* d, cal_error* error);
void cal_domains_help(cal_domains* d, int worker); // until no worker has a domain left
double cal_elapsed_time(void);                     // s, of a clock that goes on while a thread waits
// Of a world that is priced (price.c): the component that an event is of, −1: a driven body's; the time since the last event is that component's; the
// end of a window.
int cal_price_owner(const cal_world* view, const struct cal_event_slot* slot);
cal_status cal_price_event(cal_domains* d, int component, cal_error* error);
void cal_price_window(cal_domains* d);
double cal_processor_time(void); // of the calling thread, s
// Places for components that groups need; whether there were too few is asked before every event.
cal_status cal_domains_feed(cal_domains* d, cal_error* error);
int cal_domain_most_members(const cal_world* view); // of its largest group
// At the end of a domain's run: its new boxes are in its extent; others that have run can be looked at. Before a run there are no looks; then a worker
// takes those that there are, whether it took any (border.c).
cal_status cal_border_extend(cal_domains* d, int domain, cal_error* error);
void cal_border_end_run(cal_domains* d, int domain);
void cal_border_begin_run(cal_domains* d);
bool cal_border_look_some(cal_domains* d);
// What boxes of a domain overlap in another one, with the sum of their volumes and a box that holds all (overlaps.c): before the first of them, and for each. Ids,
// ascending, until the next call; their number, −1: no memory.
bool cal_look_begin(const cal_domains* d, cal_border_look* look, const cal_domain* other, double volume,
                    const cal_box* all);
int cal_look_overlaps(cal_border_look* look, const cal_domain* other, const cal_box* box, const int32_t** out);
void cal_look_free(cal_border_look* look);
double cal_box_volume(const cal_box* box);
// Brings the pairs of the border up to date; hands over what meets before a time (border.c). *met: something was.
cal_status cal_border_meet(cal_domains* d, double end, bool ran, bool* met, cal_status status, cal_error* error);
// Lists a pair that is to come into one domain; brings together those that are listed (join.c). Lists domains that a domain's bodies may meet (border.c).
cal_status cal_domains_join_wanted(cal_domains* d, cal_status status, cal_error* error);
cal_status cal_domains_want(cal_domains* d, const cal_wanted* wanted, cal_error* error);
cal_status cal_border_list_near(cal_domains* d, int domain, cal_error* error);
// The engine of a model in a domain.
cal_status cal_domain_engine(cal_domains* d, int domain, const cal_model* model, struct cal_multibody_model** out,
                             cal_error* error);
// Moves an event from one queue to another.
cal_status cal_event_hand_over(cal_world* from, cal_world* to, int* event, uint64_t who, cal_error* error);
// The domain of a body; the whole for one that is fixed or driven.
int cal_domain_of_body(const cal_world* world, int body);
// Which of two domains keeps the pairs between them: each does for about half of its neighbours. So of two ranks one tells the other of its bodies, and
// does not look itself. Space is halved again and again, so that numbers of neighbours differ in one bit, or in a few: where these are an odd number, the one keeps
// whose bits, with the odd ones of those that differ, add up to an even number. Of the neighbours across a face that is every second one.
static inline int cal_border_side(int one, int two) {
    const int low = one < two ? one : two, high = one < two ? two : one;
    const unsigned a = (unsigned)low - 1, b = (unsigned)high - 1, apart = a ^ b;
    const unsigned shared = __builtin_popcount(apart) % 2 == 1 ? a : a & b;
    return (__builtin_popcount(shared) + __builtin_popcount(apart & 0xaaaaaaaau)) % 2 == 0 ? low : high;
}
static inline int cal_border_keeper(const cal_domains* d, int a, int b) {
    return cal_border_side(cal_domain_of_body(d->whole, a), cal_domain_of_body(d->whole, b));
}
// A domain by its number: the whole, the border, or one of the domains.
static inline cal_world* cal_domain_world(const cal_domains* d, int domain) {
    return domain == CAL_DOMAIN_WHOLE ? d->whole : domain == CAL_DOMAIN_BORDER ? d->border : d->domains[domain].world;
}
// Who keeps the states of a component: its domain. The border and the whole only look at them in a divided world, which may make more.
static inline cal_world* cal_domain_keeper(cal_world* world, const cal_component* component) {
    return component->domain == world->domain ? world : cal_domain_world(world->domains, component->domain);
}
// Of noted bodies, one after the other: what the next ones need is on its way.
CAL_FETCH void cal_domain_fetch_noted(const cal_domain* own, int k) {
    enum { BOX = 6, COMPONENT = 3 };
    const cal_world* world = own->world;
    if (k + BOX < world->noted_count) {
        __builtin_prefetch(&world->bodies[world->noted[k + BOX]]);
        cal_broad_fetch(world->broad, world->noted[k + BOX]);
    }
    if (k + COMPONENT >= world->noted_count) return;
    const int component = world->bodies[world->noted[k + COMPONENT]].component;
    if (component >= 0) __builtin_prefetch(&world->components[component]);
}

// Ends what a domain, or the border, keeps of bodies that it has no more.
void cal_domain_clear(cal_world* view);
// After a multibody is gone: engines of its model are no longer needed.
void cal_domains_forget_engines(cal_world* world);
