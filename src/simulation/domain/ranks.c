// What ranks show each other about their domains, and what they agree on; see ranks.h.
#define _POSIX_C_SOURCE 200809L
#include "simulation/domain/ranks.h"
#include "base/memory.h"
#include "plan/machine_ops.h"
#include "simulation/component.h"
#include "simulation/event/events.h"
#include "simulation/world.h"
#include <limits.h>
#include <string.h>

// The first of the numbers that ranks show each other says how a rank has fared.
enum { STATUS, FIRST };
// Of a domain.
enum { EVENTS, WORK, STARVED, PLACES, MOST_MEMBERS, NOTED, STATES, REACHED, EXTENT, FIELDS = EXTENT + 6 };
// Of a rank: seconds for its own domains, and for everything else; whether there were contact groups.
enum { OWN = FIRST, OTHER, GROUPS, DOMAINS };
// Of an error: when, and its text.
enum { WHEN = FIRST, TEXT, TEXT_NUMBERS = sizeof((cal_error*)0)->text / sizeof(double) };

// --- Exchanging -----------------------------------------------------------------------------------------------------------------

static int most_domains(const cal_domains* d) { return d->capacity / cal_ranks_at_work(d->ranks) + 1; }

cal_status cal_mail_create(cal_domains* d, cal_error* error) {
    const size_t ranks = (size_t)d->ranks->processors, summary = DOMAINS + (size_t)most_domains(d) * FIELDS,
                 text = TEXT + (size_t)TEXT_NUMBERS;
    cal_mail* m = d->mail = cal_allocate(1, sizeof *m);
    if (m == NULL) return cal_fail(error, CAL_NO_MEMORY, "out of memory for ranks");
    m->ranks = (int)ranks;
    m->board = d->ranks->ops->board != NULL ? d->ranks->ops->board(d->ranks) : 0;
    m->number_count = summary > text ? summary : text;
    if (m->number_count < FIRST + ranks) m->number_count = FIRST + ranks;
    m->room_capacity = ranks * m->number_count;
    if (m->number_count < (size_t)m->board) m->number_count = (size_t)m->board;
    m->out = cal_allocate(ranks, sizeof *m->out);
    m->in = cal_allocate(ranks, sizeof *m->in);
    m->taken = cal_allocate(ranks, sizeof *m->taken);
    m->shown = cal_allocate(ranks, sizeof *m->shown);
    m->deposited = cal_allocate(ranks, sizeof *m->deposited);
    m->deposits = cal_allocate(ranks, sizeof *m->deposits);
    m->all = cal_allocate(ranks, sizeof *m->all);
    m->numbers = cal_allocate(m->number_count, sizeof *m->numbers);
    m->room = cal_allocate(m->room_capacity, sizeof *m->room);
    m->counts = cal_allocate(2 * ranks, sizeof *m->counts);
    m->sent = cal_allocate(ranks, sizeof *m->sent);
    m->received = cal_allocate(ranks, sizeof *m->received);
    const void* const lists[] = {m->out,  m->in,     m->taken,    m->shown,     m->all,     m->room,
                                 m->sent, m->counts, m->received, m->deposited, m->deposits};
    bool enough = m->numbers != NULL;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) enough &= lists[i] != NULL;
    if (enough) return CAL_OK;
    return cal_fail(error, CAL_NO_MEMORY, "out of memory for ranks");
}

void cal_mail_destroy(cal_domains* d) {
    cal_mail* m = d->mail;
    if (m == NULL) return;
    for (int r = 0; r < m->ranks && m->out != NULL; r++) cal_image_free(&m->out[r]);
    for (int r = 0; r < m->ranks && m->taken != NULL; r++) cal_image_free(&m->taken[r]);
    cal_image_free(&m->own);
    cal_image_free(&m->item);
    cal_image_free(&m->kept);
    cal_rank_end_deposits(d);
    void* const lists[] = {m->out,  m->in,     m->taken,    m->shown,     m->all,      m->numbers, m->room,
                           m->sent, m->counts, m->received, m->deposited, m->deposits, m->owners,  m};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) cal_free(lists[i]);
    d->mail = NULL;
}

void cal_mail_begin(cal_image* image) {
    image->count = image->at = 0;
    image->writes = true;
    image->status = CAL_OK;
}

cal_status cal_rank_check(const cal_image* image, cal_error* error) {
    if (image->status == CAL_OK) return CAL_OK;
    if (image->status == CAL_NO_MEMORY)
        return cal_fail(error, CAL_NO_MEMORY, "out of memory for what ranks tell each other");
    return cal_fail(error, CAL_MACHINE_FAILED, "what a rank was told makes no sense");
}

// Shows so many numbers of each rank to all; who waits for others spends nothing.
static cal_status show(cal_domains* d, const double* numbers, size_t count, cal_error* error) {
    cal_mail* m = d->mail;
    const double begin = cal_processor_time();
    const cal_status status =
        count > (size_t)INT_MAX ? CAL_NO_MEMORY
                                : d->ranks->ops->gather(d->ranks, d->ranks->keep, numbers, (int)count, m->room, m->all);
    d->waited_s += cal_processor_time() - begin;
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "ranks of a world cannot reach each other");
}

// All say what the one has to say whose domain failed first.
static cal_status tell_error(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    const char* said = error != NULL ? error->text : "";
    memset(m->numbers, 0, (TEXT + (size_t)TEXT_NUMBERS) * sizeof *m->numbers);
    m->numbers[STATUS] = (double)status;
    m->numbers[WHEN] = d->failed_at;
    memcpy(m->numbers + TEXT, said, strlen(said));
    const cal_status shown = show(d, m->numbers, TEXT + (size_t)TEXT_NUMBERS, error);
    if (shown != CAL_OK) return shown;
    int first = -1;
    for (int p = 0; p < m->ranks; p++)
        if (m->all[p][STATUS] != (double)CAL_OK && (first < 0 || m->all[p][WHEN] < m->all[first][WHEN])) first = p;
    char text[TEXT_NUMBERS * sizeof(double)];
    memcpy(text, m->all[first] + TEXT, sizeof text);
    text[sizeof text - 1] = '\0';
    return cal_fail(error, (cal_status)m->all[first][STATUS], "%s", text);
}

// Shows m->numbers, of which the first says how this rank has fared.
static cal_status agree(cal_domains* d, size_t count, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    m->numbers[STATUS] = (double)status;
    const cal_status shown = show(d, m->numbers, count, error);
    if (shown != CAL_OK) return shown;
    for (int p = 0; p < m->ranks; p++)
        if (m->all[p][STATUS] != (double)CAL_OK) return tell_error(d, status, error);
    return CAL_OK;
}

cal_status cal_rank_agree(cal_domains* d, cal_status status, cal_error* error) {
    return agree(d, FIRST, status, error);
}

cal_status cal_rank_agree_early(cal_machine* ranks, cal_status status, cal_error* error) {
    enum { FEW = 256 }; // ranks that need no memory for it
    double few_room[FEW], *room = few_room;
    const double *few[FEW], **all = few, own = (double)status;
    if (ranks->processors > FEW) {
        room = cal_allocate((size_t)ranks->processors, sizeof *room);
        all = cal_allocate((size_t)ranks->processors, sizeof *all);
    }
    cal_status shown = CAL_NO_MEMORY;
    if (room != NULL && all != NULL) shown = ranks->ops->gather(ranks, ranks->keep, &own, 1, room, all);
    for (int p = 0; shown == CAL_OK && status == CAL_OK && p < ranks->processors; p++)
        if (*all[p] != (double)CAL_OK)
            status = cal_fail(error, (cal_status)*all[p], "rank %d could not take part in a world: %s", p,
                              cal_status_text((cal_status)*all[p]));
    if (ranks->processors > FEW) {
        cal_free(room);
        cal_free(all);
    }
    return shown == CAL_OK ? status : cal_fail(error, shown, "ranks of a world cannot reach each other");
}

static bool reserve_room(cal_mail* m, size_t count) {
    if (count <= m->room_capacity) return true;
    double* grown = cal_allocate(count, sizeof *grown);
    if (grown == NULL) return false;
    cal_free(m->room);
    m->room = grown;
    m->room_capacity = count;
    return true;
}

// What is shown on the board follows the numbers that say how much it is; where some rank's does not fit, all see it, and go the long way.
static bool fits(const cal_mail* m, size_t header, double count) { return (double)header + count <= (double)m->board; }

static void put_words(cal_mail* m, size_t* at, const cal_image* image) {
    if (image->count > 0) memcpy(m->numbers + *at, image->words, image->count * sizeof *image->words);
    *at += image->count;
}

static cal_image shown_at(const double* numbers, size_t count) {
    return (cal_image){.words = (uint64_t*)(void*)(uintptr_t)numbers, .count = count};
}

cal_status cal_rank_gather(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    if (status == CAL_OK && m->own.status != CAL_OK)
        status = cal_fail(error, m->own.status, "out of memory for what ranks tell each other");
    size_t header = FIRST + 1, end = header, most = 0;
    m->numbers[FIRST] = (double)m->own.count;
    if (fits(m, header, (double)m->own.count)) put_words(m, &end, &m->own);
    status = agree(d, end, status, error);
    if (status != CAL_OK) return status;
    bool all_fit = true;
    for (int p = 0; p < m->ranks; p++) {
        const double count = m->all[p][FIRST];
        m->shown[p] = shown_at(m->all[p] + header, (size_t)count);
        all_fit &= fits(m, header, count);
        most = (size_t)count > most ? (size_t)count : most;
    }
    if (most == 0 || all_fit) return CAL_OK;
    if (!cal_image_reserve(&m->own, most) || !reserve_room(m, most * (size_t)m->ranks))
        status = cal_fail(error, CAL_NO_MEMORY, "out of memory for what ranks tell each other");
    status = cal_rank_agree(d, status, error);
    if (status == CAL_OK) status = show(d, (const double*)(const void*)m->own.words, most, error);
    for (int p = 0; status == CAL_OK && p < m->ranks; p++) m->shown[p] = shown_at(m->all[p], m->shown[p].count);
    return status;
}

// By messages: m->counts is how much goes to each rank, and how much comes from it.
static cal_status deliver(cal_domains* d, cal_error* error) {
    cal_mail* m = d->mail;
    cal_status status = CAL_OK;
    for (int p = 0; p < m->ranks; p++) {
        m->taken[p].count = 0;
        if (!cal_image_reserve(&m->taken[p], (size_t)m->counts[m->ranks + p]))
            status = cal_fail(error, CAL_NO_MEMORY, "out of memory for what ranks tell each other");
    }
    status = cal_rank_agree(d, status, error);
    if (status != CAL_OK) return status;
    const double begin = cal_processor_time();
    for (int p = 0; p < m->ranks; p++) {
        m->sent[p] = (const double*)(const void*)m->out[p].words, m->received[p] = (double*)(void*)m->taken[p].words;
        m->in[p] = shown_at(m->received[p], (size_t)m->counts[m->ranks + p]);
    }
    status = d->ranks->ops->deliver(d->ranks, m->sent, m->counts, m->received, m->counts + m->ranks);
    d->waited_s += cal_processor_time() - begin;
    return status == CAL_OK ? CAL_OK : cal_fail(error, status, "ranks of a world cannot reach each other");
}

cal_status cal_rank_exchange(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    const int keep = d->ranks->keep;
    const size_t header = FIRST + (size_t)m->ranks;
    size_t end = header;
    double all = 0.0;
    for (int r = 0; r < m->ranks; r++) {
        if (status == CAL_OK && (m->out[r].status != CAL_OK || m->out[r].count > (size_t)INT_MAX))
            status = cal_fail(error, CAL_NO_MEMORY, "out of memory for what ranks tell each other");
        m->numbers[FIRST + r] = (double)m->out[r].count;
        all += (double)m->out[r].count;
    }
    for (int r = 0; fits(m, header, all) && r < m->ranks; r++) put_words(m, &end, &m->out[r]);
    status = agree(d, end, status, error);
    if (status != CAL_OK) return status;
    bool any = false, all_fit = true;
    for (int p = 0; p < m->ranks; p++) {
        const double* from = m->all[p];
        double before = 0.0;
        all = 0.0;
        for (int r = 0; r < m->ranks; r++) {
            if (r == keep) before = all;
            all += from[FIRST + r];
        }
        any |= all > 0.0;
        all_fit &= fits(m, header, all);
        m->counts[p] = (int)m->out[p].count;
        m->counts[m->ranks + p] = (int)from[FIRST + keep];
        m->in[p] = shown_at(from + header + (size_t)before, (size_t)from[FIRST + keep]);
    }
    return !any || all_fit ? CAL_OK : deliver(d, error);
}

// --- Domains ----------------------------------------------------------------------------------------------------------------------

static void write_summary(const cal_domains* d, int domain, double* out) {
    const cal_domain* own = &d->domains[domain];
    out[EVENTS] = (double)own->events;
    out[WORK] = (double)own->work;
    out[STARVED] = own->starved;
    out[PLACES] = own->world->unused_count;
    out[MOST_MEMBERS] = own->starved ? cal_domain_most_members(own->world) : 0;
    out[NOTED] = own->world->noted_count;
    out[STATES] = (double)own->world->states;
    out[REACHED] = own->world->reached;
    memcpy(out + EXTENT, &own->extent, sizeof own->extent);
}

static void read_summary(cal_domains* d, int domain, const double* in) {
    cal_domain* own = &d->domains[domain];
    own->events = (int64_t)in[EVENTS];
    own->work = (int64_t)in[WORK];
    own->starved = in[STARVED] != 0.0;
    own->places = (int)in[PLACES];
    own->most_members = (int)in[MOST_MEMBERS];
    own->world->states = (int64_t)in[STATES];
    own->world->reached = in[REACHED];
    memcpy(&own->extent, in + EXTENT, sizeof own->extent);
    d->noted += (int64_t)in[NOTED];
}

cal_status cal_rank_summarize(cal_domains* d, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    const double now = cal_processor_time();
    double* next = m->numbers + DOMAINS;
    bool groups = false;
    for (int i = 1; i <= d->count; i++) {
        if (!cal_domain_is_own(d, i)) continue;
        groups |= d->domains[i].world->report.groups > 0;
        write_summary(d, i, next);
        next += FIELDS;
    }
    m->numbers[OWN] = d->own_s;
    m->numbers[OTHER] = now - d->rank_mark - d->own_s - d->waited_s;
    m->numbers[GROUPS] = groups;
    status = agree(d, DOMAINS + (size_t)most_domains(d) * FIELDS, status, error);
    d->rank_mark = cal_processor_time();
    d->own_s = d->waited_s = 0.0;
    if (status != CAL_OK) return status;
    double busiest = 0.0, other = 0.0;
    d->noted = 0;
    for (int p = 0; p < m->ranks; p++) {
        const double* from = m->all[p] + DOMAINS;
        busiest = fmax(busiest, m->all[p][OWN]);
        other = fmax(other, m->all[p][OTHER]);
        d->shown_s += m->all[p][OWN];
        d->grouping |= m->all[p][GROUPS] != 0.0;
        for (int i = 1; i <= d->count; i++) {
            if (d->domains[i].worker != p) continue;
            read_summary(d, i, from);
            from += FIELDS;
        }
    }
    d->rank_busiest_s += busiest, d->rank_other_s += other;
    return CAL_OK;
}

cal_status cal_rank_first_due(cal_domains* d, double* due, bool* interrupted, cal_status status, cal_error* error) {
    const cal_world_def* def = &d->whole->def;
    d->mail->numbers[FIRST] = *due;
    d->mail->numbers[FIRST + 1] = def->interrupt != NULL && d->ranks->keep == 0 && def->interrupt(def->interrupt_user);
    status = agree(d, FIRST + 2, status, error);
    *interrupted = status == CAL_OK && d->mail->all[0][FIRST + 1] != 0.0;
    for (int p = 0; status == CAL_OK && p < d->mail->ranks; p++) *due = fmin(*due, d->mail->all[p][FIRST]);
    return status;
}

// --- Plans ------------------------------------------------------------------------------------------------------------------------

static bool is_any_shown(const cal_mail* m) {
    bool any = false;
    for (int p = 0; p < m->ranks; p++) any |= m->shown[p].count > 0;
    return any;
}

cal_status cal_rank_share_handings(cal_domains* d, bool* any, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    *any = false;
    cal_mail_begin(&m->own);
    for (int i = 0; i < d->handing_count; i++) {
        cal_image_int(&m->own, &d->handings[i].component);
        cal_image_int(&m->own, &d->handings[i].to);
    }
    status = cal_rank_gather(d, status, error);
    d->handing_count = 0;
    if (status != CAL_OK) return status;
    *any = is_any_shown(m);
    for (int p = 0; status == CAL_OK && p < m->ranks; p++) {
        cal_image* in = &m->shown[p];
        while (status == CAL_OK && in->at < in->count) {
            cal_handing handing = {0};
            cal_image_int(in, &handing.component);
            cal_image_int(in, &handing.to);
            status = cal_rank_check(in, error);
            if (status == CAL_OK) status = cal_domains_add_handing(d, handing.component, handing.to, error);
        }
    }
    return status;
}

// Where the bodies of what is wanted are at home, and what stays together with them: what a rank knows of its own.
static cal_status write_clusters(cal_domains* d, cal_error* error) {
    cal_image* own = &d->mail->own;
    for (int i = 0; i < d->wanted_count; i++)
        for (int side = 0; side < 2; side++) {
            const int body = d->wanted[i].body[side];
            if (!cal_domain_is_own(d, cal_domain_of_body(d->whole, body))) continue;
            const cal_status status = cal_domains_collect(d, d->whole->bodies[body].component, error);
            if (status != CAL_OK) return status;
            int numbers[] = {i, side, cal_domain_home_of(d, body), d->cluster_count};
            cal_image_ints(own, numbers, sizeof numbers / sizeof numbers[0]);
            cal_image_ints(own, d->cluster, (size_t)d->cluster_count);
        }
    return CAL_OK;
}

// Until the end of the window they stay together: so all ranks know it.
static cal_status read_clusters(cal_domains* d, cal_image* in, cal_error* error) {
    cal_status status = CAL_OK;
    while (status == CAL_OK && in->at < in->count) {
        int numbers[4] = {0}, member = 0;
        cal_image_ints(in, numbers, sizeof numbers / sizeof numbers[0]);
        status = cal_rank_check(in, error);
        if (status != CAL_OK) break;
        cal_wanted* wanted = &d->wanted[numbers[0]];
        const int component = d->whole->bodies[wanted->body[numbers[1]]].component;
        wanted->home[numbers[1]] = numbers[2];
        for (int k = 0; status == CAL_OK && k < numbers[3]; k++) {
            cal_image_int(in, &member);
            status = cal_rank_check(in, error);
            if (status == CAL_OK && member != component) status = cal_domains_tie(d, component, member, error);
        }
    }
    return status;
}

static cal_status read_wanted(cal_domains* d, cal_image* in, cal_error* error) {
    cal_status status = CAL_OK;
    while (status == CAL_OK && in->at < in->count) {
        cal_wanted wanted = {0};
        cal_image_ints(in, wanted.body, 2);
        cal_image_number(in, &wanted.missed);
        status = cal_rank_check(in, error);
        if (status == CAL_OK) status = cal_domains_want(d, &wanted, error);
    }
    return status;
}

cal_status cal_rank_share_wanted(cal_domains* d, bool* any, cal_status status, cal_error* error) {
    cal_mail* m = d->mail;
    *any = false;
    cal_mail_begin(&m->own);
    for (int i = 0; i < d->wanted_count; i++) {
        cal_image_ints(&m->own, d->wanted[i].body, 2);
        cal_image_number(&m->own, &d->wanted[i].missed);
    }
    status = cal_rank_gather(d, status, error);
    if (status != CAL_OK) return status;
    *any = is_any_shown(m);
    d->wanted_count = 0;
    bool missed = false;
    for (int p = 0; status == CAL_OK && p < m->ranks; p++) status = read_wanted(d, &m->shown[p], error);
    for (int i = 0; i < d->wanted_count; i++) missed |= d->wanted[i].missed < (double)INFINITY;
    int kept = 0; // decisions of groups come first
    for (int i = 0; i < d->wanted_count; i++)
        if (!missed || d->wanted[i].missed < (double)INFINITY) d->wanted[kept++] = d->wanted[i];
    d->wanted_count = kept;
    if (!*any) return status;
    cal_mail_begin(&m->own);
    if (status == CAL_OK) status = write_clusters(d, error);
    status = cal_rank_gather(d, status, error);
    for (int p = 0; status == CAL_OK && p < m->ranks; p++) status = read_clusters(d, &m->shown[p], error);
    return status;
}
