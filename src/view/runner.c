// The thread that advances a run.
//
// The clock is the wall's times the speed. Sixty times a second the thread advances to where the clock is, in slices, and
// leaves a frame. When the run is too slow for that, the clock is set back: what cannot be in real time is slower, and
// says so, but never piles up.
#define _POSIX_C_SOURCE 200809L
#include "view/runner_inner.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/number_text.h"
#include "base/memory.h"

static const double SLICE = 1.0 / 120; // s, simulated at a stretch at most, times the speed
static const double LATE = 3;          // frames that are made up for at most
static const double HEARTBEAT = 0.5;   // s between frames of something that stands still
static const double WATCH = 0.1;       // s between descriptions of watched bodies

static const cal_channel own_channels[OWN_CHANNELS] = {
    {"speed", "×", "Real-time factor", true},    // simulated seconds a second
    {"possible", "×", "Real-time factor", true}, // simulated seconds a second of computing
};

static double wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int cal_runner_channels(const cal_run* run, cal_channel channels[CAL_VIEW_CHANNELS]) {
    int count;
    const cal_channel* theirs = cal_run_channels(run, &count);
    memcpy(channels, theirs, (size_t)count * sizeof *channels);
    memcpy(channels + count, own_channels, sizeof own_channels);
    return count + OWN_CHANNELS;
}

// --- The clock ----------------------------------------------------------------------------------------------------------

void cal_runner_set_clock(cal_runner* r) {
    r->base_wall = wall();
    r->base_time = cal_run_time(r->run);
}

static double clock_at(const cal_runner* r, double now) { return r->base_time + (now - r->base_wall) * r->speed; }

// --- Frames and texts -----------------------------------------------------------------------------------------------------

static void put(unsigned char* bytes, size_t at, const void* value, size_t size) { memcpy(bytes + at, value, size); }

static void put_float3(unsigned char* bytes, size_t at, const double values[3]) {
    for (size_t i = 0; i < 3; i++) {
        const float value = (float)values[i];
        put(bytes, at + 4 * i, &value, 4);
    }
}

// Behind the poses; returns how many there are.
static uint32_t put_contacts(cal_runner* r, unsigned char* at) {
    int count = 0;
    if (!r->with_contacts || cal_run_contacts(r->run, r->contacts, CAL_VIEW_CONTACTS_LIMIT, &count, NULL) != CAL_OK)
        return 0;
    if (count > CAL_VIEW_CONTACTS_LIMIT) count = CAL_VIEW_CONTACTS_LIMIT;
    for (int i = 0; i < count; i++) {
        put_float3(at, 24 * (size_t)i, r->contacts[i].point);
        put_float3(at, 24 * (size_t)i + 12, r->contacts[i].force);
    }
    return (uint32_t)count;
}

static uint32_t put_positions(cal_runner* r, unsigned char* at) {
    const double* q = r->with_q ? cal_run_q(r->run) : NULL;
    const int count = q ? cal_model_q_count(cal_run_model(r->run)) : 0;
    for (int i = 0; i < count; i++) {
        const float value = (float)q[i];
        put(at, 4 * (size_t)i, &value, 4);
    }
    return (uint32_t)count;
}

// What is sent is as this machine's memory has it: the page reads little-endian, which every machine with a browser is.
static void publish(cal_runner* r) {
    unsigned char* bytes = r->back.bytes + CAL_VIEW_ROOM;
    cal_run_pull pull;
    double channels[CAL_VIEW_CHANNELS + CAL_PROBES];
    const size_t channel_count = (size_t)(r->channel_count + r->probes.count);
    const size_t poses_at = CAL_FRAME_HEADER + 8 * channel_count;
    const size_t contacts_at = poses_at + 7 * sizeof(float) * (size_t)r->def.drawn_count;
    if (cal_run_poses(r->run, r->poses, NULL) != CAL_OK || cal_run_read(r->run, channels, NULL) != CAL_OK) return;
    float* poses = (float*)(void*)(bytes + poses_at);
    for (size_t i = 0; i < 7 * (size_t)r->def.drawn_count; i++) poses[i] = (float)r->poses[i];
    cal_run_get_pull(r->run, &pull);
    channels[r->run_channels] = r->pace.factor;
    channels[r->run_channels + 1] = r->possible;
    const double time = cal_run_time(r->run);
    const uint64_t hash = cal_run_hash(r->run);
    cal_probes_read(&r->probes, r->run, channels + r->channel_count);
    const uint32_t number = ++r->frame_number, count = (uint32_t)channel_count;
    const uint32_t contacts = put_contacts(r, bytes + contacts_at);
    const uint32_t positions = put_positions(r, bytes + contacts_at + 24 * contacts);
    const uint32_t flags = (r->running ? CAL_FRAME_RUNNING : 0u) | (r->failed ? CAL_FRAME_FAILED : 0u) |
                           (r->behind ? CAL_FRAME_BEHIND : 0u);
    const int32_t body = pull.body, holder = r->holder;
    put(bytes, 0, "CALF", 4);
    put(bytes, 4, &number, 4);
    put(bytes, 8, &time, 8);
    put(bytes, 16, &hash, 8);
    put(bytes, 24, &r->speed, 8);
    put(bytes, 32, &flags, 4);
    put(bytes, 36, &body, 4);
    put(bytes, 40, &r->epoch, 4);
    put(bytes, 44, &holder, 4);
    put_float3(bytes, 48, pull.position);
    put_float3(bytes, 60, pull.target);
    put_float3(bytes, 72, pull.force);
    put(bytes, 84, &count, 4);
    put(bytes, 88, &contacts, 4);
    put(bytes, 92, &positions, 4);
    put(bytes, CAL_FRAME_HEADER, channels, 8 * channel_count);
    r->back.number = number;
    r->back.size = contacts_at + 24 * contacts + 4 * positions;
    pthread_mutex_lock(&r->lock);
    const cal_runner_slot fresh = r->back;
    r->back = r->ready;
    r->ready = fresh;
    pthread_mutex_unlock(&r->lock);
    r->changed = false;
    r->def.wake(r->def.user);
}

static void write_status(cal_runner* r) {
    cal_run_settings s;
    char text[CAL_VIEW_STATUS];
    cal_run_get_settings(r->run, &s);
    FILE* file = fmemopen(text, sizeof text, "w");
    if (!file) return;
    fputs("{\"say\":\"status\",\"solver\":", file);
    cal_write_json_text(file, s.solver);
    fputs(",\"algorithm\":", file);
    cal_write_json_text(file, s.algorithm);
    fputs(",\"machine\":", file);
    cal_write_json_text(file, s.machine);
    fputs(",\"tolerance\":", file);
    cal_write_number(file, 9, s.tolerance);
    fputs(",\"note\":", file);
    cal_write_json_text(file, r->note);
    fputs(",\"hint\":", file);
    cal_write_json_text(file, r->hint);
    fputs(",\"marks\":[", file);
    for (int i = 0; i < r->mark_count; i++) {
        fputs(i ? ",{\"time\":" : "{\"time\":", file);
        cal_write_number(file, 9, r->marks[i].time);
        fputs(",\"text\":", file);
        cal_write_json_text(file, r->marks[i].text);
        fputc('}', file);
    }
    fputs("],\"probes\":", file);
    cal_probes_write_json(&r->probes, r->run, file);
    fputs(",\"control\":[", file);
    const cal_model* model = cal_run_model(r->run);
    const int actuators = r->control ? cal_model_actuator_count(model) : 0;
    cal_write_numbers(file, 6, r->control, actuators < CONTROLS_SHOWN ? actuators : CONTROLS_SHOWN);
    fputs("]}", file);
    const long length = ftell(file);
    fclose(file);
    if (length <= 0 || (size_t)length >= sizeof text) return;
    pthread_mutex_lock(&r->lock);
    memcpy(r->status, text, (size_t)length);
    r->status_length = (size_t)length;
    r->status_version++;
    pthread_mutex_unlock(&r->lock);
    r->def.wake(r->def.user);
}

static void describe_to(cal_runner* r, int client, int body) {
    static const char head[] = "{\"say\":\"body\",";
    char text[WATCH_CAPACITY];
    size_t length = sizeof head - 1;
    memcpy(text, head, length);
    const size_t described = cal_run_describe(r->run, body, text + length, sizeof text - length);
    length += described;
    if (described == 0 || length + 1 >= sizeof text) return;
    text[length++] = '}';
    pthread_mutex_lock(&r->lock);
    if (r->watched[client] == body) {
        memcpy(r->watch[client].text, text, length);
        r->watch[client].length = length;
        r->watch[client].version++;
    }
    pthread_mutex_unlock(&r->lock);
}

// So many at a time, client after client: a thousand that watch get their numbers less often, and do not slow the run down.
static void describe_watched(cal_runner* r) {
    int clients[WATCHED_PER_ROUND], bodies[WATCHED_PER_ROUND], count = 0;
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < CAL_VIEW_CLIENTS && count < WATCHED_PER_ROUND; i++) {
        const int client = (r->next_watch + i) % CAL_VIEW_CLIENTS;
        if (r->watched[client] < 0) continue;
        clients[count] = client;
        bodies[count++] = r->watched[client];
    }
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < count; i++) describe_to(r, clients[i], bodies[i]);
    if (count == 0) return;
    r->next_watch = clients[count - 1] + 1;
    r->def.wake(r->def.user);
}

void cal_runner_say(cal_runner* r, const char* text) {
    snprintf(r->note, sizeof r->note, "%s", text);
    write_status(r);
}

// Says what could be changed once it has been too slow for a while, and takes that back when it keeps up.
static void advise(cal_runner* r) {
    r->hint[0] = '\0';
    if (r->pace.slow) {
        char pace[48], what[320];
        if (r->speed == 1)
            snprintf(pace, sizeof pace, "%.2g × real time", r->pace.factor);
        else
            snprintf(pace, sizeof pace, "%.2g × real time of %g", r->pace.factor, r->speed);
        cal_run_advise(r->run, r->pace.factor, what, sizeof what);
        snprintf(r->hint, sizeof r->hint, "%s: %s%s%s", pace, what, r->def.advice ? "; " : "",
                 r->def.advice ? r->def.advice : "");
        if (r->def.notice && !r->noticed) r->def.notice(r->def.notice_user, r->hint);
        r->noticed = true;
    }
    r->note[0] = '\0'; // it was read long ago
    write_status(r);
}

// Whether a command makes an equal one before it needless: only where the mouse is now matters.
static bool replaces(const cal_view_command* command, const cal_view_command* last) {
    return last && command->verb == last->verb && command->client == last->client && command->verb != CAL_VIEW_STEP &&
           command->verb != CAL_VIEW_SET && command->verb != CAL_VIEW_PROBE && command->verb != CAL_VIEW_SHOW &&
           command->index == last->index;
}

bool cal_runner_post(cal_runner* r, const cal_view_command* command) {
    // Letting go must not be refused; there is one hand, so a few places are enough for that.
    const int room = command->verb == CAL_VIEW_DROP ? QUEUE : QUEUE - DROPS;
    bool taken = true;
    pthread_mutex_lock(&r->lock);
    cal_view_command* last = r->queued > 0 ? &r->queue[r->queued - 1] : NULL;
    if (command->verb == CAL_VIEW_WATCH) {
        r->watched[command->client] = command->body;
        r->watch[command->client].length = 0; // what is there is about another body
    } else if (replaces(command, last)) {
        *last = *command;
    } else if (r->queued < room) {
        r->queue[r->queued++] = *command;
    } else {
        taken = false;
    }
    pthread_cond_signal(&r->news);
    pthread_mutex_unlock(&r->lock);
    return taken;
}

// --- The thread -----------------------------------------------------------------------------------------------------------

// The next time to stop at, up to where the clock is; no later than the present one: not yet.
static double next_stop(const cal_runner* r, double at, double due) {
    const double wanted = fmin(due, at + SLICE * r->speed), grain = cal_run_grain(r->run);
    if (!(grain > 0 && isfinite(grain))) return wanted;
    const double whole = grain * floor(wanted / grain),
                 next = whole > at ? whole : grain * (floor(at / grain + 0.5) + 1);
    return next <= due ? next : at;
}

// A run that explodes is stopped, and says so.
static void watch_energy(cal_runner* r) {
    cal_error error = {CAL_OK, ""};
    cal_energy_balance balance;
    if (!cal_run_can(r->run, CAL_RUN_BALANCE)) return;
    const cal_status status = cal_run_balance(r->run, &balance, &error);
    if (status) cal_runner_fail(r, &error, status);
}

// Advances to where the clock is now, but not for longer than a frame takes.
static void advance(cal_runner* r, double until) {
    const double time = cal_run_time(r->run), began = wall(), due = clock_at(r, began);
    double now = began;
    while (r->running && now < until) {
        const double at = cal_run_time(r->run);
        const double stop = next_stop(r, at, due);
        if (!(stop > at)) break;
        cal_error error = {CAL_OK, ""};
        bool reached;
        const cal_status status = cal_run_approach(r->run, stop, &reached, &error);
        if (status) cal_runner_fail(r, &error, status);
        now = wall();
    }
    const double passed = cal_run_time(r->run) - time, spent = now - began;
    r->spent += spent;
    if (passed > 0) {
        watch_energy(r);
        r->changed = true;
        if (r->spent > 0) r->possible += 0.1 * (passed / r->spent - r->possible);
        r->spent = 0;
    }
    const double lag = clock_at(r, now) - cal_run_time(r->run);
    r->behind = r->running && lag > 4 * CAL_FRAME_SECONDS * r->speed;
    if (r->behind) cal_runner_set_clock(r);
}

bool cal_runner_is_ending(cal_runner* r) {
    pthread_mutex_lock(&r->lock);
    const bool stop = r->stop;
    pthread_mutex_unlock(&r->lock);
    return stop;
}

static int take_commands(cal_runner* r, cal_view_command commands[QUEUE], bool* stop) {
    pthread_mutex_lock(&r->lock);
    const int count = r->queued;
    memcpy(commands, r->queue, (size_t)count * sizeof *commands);
    r->queued = 0;
    *stop = r->stop;
    pthread_mutex_unlock(&r->lock);
    return count;
}

// Sleeps until a moment or until there is a command.
static void wait_until(cal_runner* r, double moment) {
    const struct timespec until = {(time_t)moment, (long)(1e9 * (moment - floor(moment)))};
    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->queued == 0 && pthread_cond_timedwait(&r->news, &r->lock, &until) != ETIMEDOUT) {}
    pthread_mutex_unlock(&r->lock);
}

static void* run(void* argument) {
    cal_runner* r = argument;
    cal_view_command commands[QUEUE];
    double next = wall(), published = -INFINITY, described = -INFINITY;
    bool stop = false;
    cal_runner_set_clock(r);
    cal_pace_start(&r->pace, next, cal_run_time(r->run));
    write_status(r);
    while (!stop) {
        const int count = take_commands(r, commands, &stop);
        for (int i = 0; i < count && !stop && !cal_runner_is_ending(r); i++) cal_runner_apply(r, &commands[i]);
        double now = wall();
        // No deadline is more than a frame ahead, but where a clock went back.
        if (next - now > 2 * CAL_FRAME_SECONDS) {
            next = now, published = described = -INFINITY;
            cal_runner_set_clock(r);
            cal_pace_start(&r->pace, now, cal_run_time(r->run));
        }
        if (now >= next) {
            // Deadlines are absolute: one that was missed by a little is made up for, so that sixty a second stay sixty.
            next = fmax(next + CAL_FRAME_SECONDS, now - LATE * CAL_FRAME_SECONDS);
            advance(r, now + CAL_FRAME_SECONDS);
            now = wall();
            if (cal_pace_measure(&r->pace, now, cal_run_time(r->run), r->running ? r->speed : 0)) advise(r);
            if (now - described > WATCH) describe_watched(r), described = now;
        }
        if (r->changed || now - published > HEARTBEAT) publish(r), published = now;
        wait_until(r, next);
    }
    return NULL;
}

cal_status cal_runner_show(cal_runner* r, cal_error* error) {
    cal_view_command commands[QUEUE];
    const double now = wall(), time = cal_run_time(r->run);
    bool stop;
    if (!r->def.shown) {
        r->def.shown = r->running = r->changed = true;
        cal_pace_start(&r->pace, now, time);
        write_status(r);
    }
    if (r->started) return cal_fail(error, CAL_BAD_ARGUMENT, "a viewer that runs by itself cannot be shown, too");
    const int count = take_commands(r, commands, &stop);
    for (int i = 0; i < count; i++) cal_runner_apply(r, &commands[i]);
    cal_pace_measure(&r->pace, now, time, 0);
    // The page draws sixty frames per second; more would only cost the program that is watched.
    if (now - r->published < CAL_FRAME_SECONDS && !r->changed) return CAL_OK;
    publish(r), r->published = now;
    if (now - r->described > WATCH) describe_watched(r), r->described = now;
    return CAL_OK;
}

// --- Making one, and fetching from it ---------------------------------------------------------------------------------------

cal_status cal_runner_create(const cal_runner_def* def, cal_runner** out, cal_error* error) {
    cal_runner* r = cal_allocate(1, sizeof *r);
    *out = NULL;
    if (!r) return cal_fail(error, CAL_NO_MEMORY, "no memory for the viewer");
    r->def = *def;
    r->run = def->run;
    r->running = !def->paused;
    r->changed = true;
    r->speed = 1;
    r->holder = -1;
    cal_run_channels(r->run, &r->run_channels);
    r->channel_count = r->run_channels + OWN_CHANNELS;
    const size_t most = CAL_FRAME_HEADER + 8 * (size_t)(r->channel_count + CAL_PROBES) +
                        7 * sizeof(float) * (size_t)def->drawn_count + 24 * (size_t)CAL_VIEW_CONTACTS_LIMIT +
                        (cal_run_model(r->run) ? 4 * (size_t)cal_model_q_count(cal_run_model(r->run)) : 0);
    if (def->note) snprintf(r->note, sizeof r->note, "%s", def->note);
    r->poses = cal_allocate(7 * (size_t)cal_run_body_count(r->run), sizeof *r->poses);
    for (int i = 0; i < CAL_VIEW_CLIENTS; i++) r->watched[i] = CAL_NONE;
    cal_runner_slot* const slots[] = {&r->ready, &r->front, &r->back};
    bool complete = r->poses != NULL;
    for (int i = 0; i < 3; i++) {
        slots[i]->bytes = cal_allocate(CAL_VIEW_ROOM + most, 1);
        complete = complete && slots[i]->bytes;
    }
    pthread_condattr_t attributes;
    if (complete && pthread_condattr_init(&attributes) == 0) {
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        r->with_lock = pthread_mutex_init(&r->lock, NULL) == 0;
        if (r->with_lock && pthread_cond_init(&r->news, &attributes) != 0) {
            pthread_mutex_destroy(&r->lock);
            r->with_lock = false;
        }
        pthread_condattr_destroy(&attributes);
    }
    if (!r->with_lock) {
        cal_runner_destroy(r);
        return cal_fail(error, CAL_NO_MEMORY, "no memory for the viewer's frames");
    }
    *out = r;
    return CAL_OK;
}

cal_status cal_runner_start(cal_runner* r, cal_error* error) {
    const int failure = pthread_create(&r->thread, NULL, run, r);
    r->started = failure == 0;
    return r->started ? CAL_OK
                      : cal_fail(error, CAL_MACHINE_FAILED, "the viewer's thread did not start: %s", strerror(failure));
}

void cal_runner_stop(cal_runner* r) {
    if (!r || !r->started) return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->news);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    r->started = false;
}

void cal_runner_destroy(cal_runner* r) {
    if (!r) return;
    cal_runner_stop(r);
    if (r->with_lock) {
        pthread_cond_destroy(&r->news);
        pthread_mutex_destroy(&r->lock);
    }
    cal_probes_release(&r->probes);
    cal_free(r->contacts);
    cal_free(r->control);
    cal_free(r->poses);
    cal_free(r->ready.bytes);
    cal_free(r->front.bytes);
    cal_free(r->back.bytes);
    cal_free(r);
}

unsigned char* cal_runner_frame(cal_runner* r, size_t* size, uint32_t* number) {
    pthread_mutex_lock(&r->lock);
    if (r->ready.number > r->front.number) {
        const cal_runner_slot fresh = r->ready;
        r->ready = r->front;
        r->front = fresh;
    }
    pthread_mutex_unlock(&r->lock);
    *size = r->front.size;
    *number = r->front.number;
    return r->front.bytes;
}

static uint32_t copy_text(const char* from, size_t from_length, uint32_t version, char* text, size_t capacity,
                          size_t* length) {
    *length = from_length < capacity ? from_length : capacity;
    memcpy(text, from, *length);
    return version;
}

uint32_t cal_runner_status(cal_runner* r, char* text, size_t capacity, size_t* length) {
    pthread_mutex_lock(&r->lock);
    const uint32_t version = copy_text(r->status, r->status_length, r->status_version, text, capacity, length);
    pthread_mutex_unlock(&r->lock);
    return version;
}

uint32_t cal_runner_watched(cal_runner* r, int client, char* text, size_t capacity, size_t* length) {
    const cal_runner_watch* w = &r->watch[client];
    pthread_mutex_lock(&r->lock);
    const uint32_t version = copy_text(w->text, w->length, w->version, text, capacity, length);
    pthread_mutex_unlock(&r->lock);
    return version;
}
