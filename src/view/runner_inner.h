// What the runner's two files share: its thread (runner.c) and what it does for pages (runner_commands.c).
#pragma once
#include <pthread.h>

#include "view/pace.h"
#include "view/runner.h"

#define CAL_FRAME_SECONDS (1.0 / 60) // wall clock between frames
enum {
    QUEUE = 128,
    DROPS = 32,
    WATCH_CAPACITY = 4096,
    WATCHED_PER_ROUND = 32,
    MARKS = 8,
    OWN_CHANNELS = 2,
    CONTROLS_SHOWN = 64
};

typedef struct cal_runner_slot {
    unsigned char* bytes;
    size_t size; // of the frame
    uint32_t number;
} cal_runner_slot;

typedef struct cal_runner_watch {
    uint32_t version;
    size_t length;
    char text[WATCH_CAPACITY];
} cal_runner_watch;

typedef struct cal_runner_mark {
    double time;
    char text[80];
} cal_runner_mark;

struct cal_runner {
    cal_runner_def def;
    cal_run* run;
    double* poses;
    int channel_count, run_channels;
    pthread_t thread;
    bool started, with_lock;

    pthread_mutex_t lock; // of what follows
    pthread_cond_t news;
    bool stop;
    cal_view_command queue[QUEUE];
    int queued;
    cal_runner_slot ready;
    uint32_t status_version;
    size_t status_length;
    char status[CAL_VIEW_STATUS];
    int watched[CAL_VIEW_CLIENTS];            // each client's body, or CAL_NONE
    cal_runner_watch watch[CAL_VIEW_CLIENTS]; // what is said about it; places that nobody uses are never touched

    cal_runner_slot front; // the server's
    cal_runner_slot back;  // the thread's, and all that follows
    bool running, failed, behind, changed;
    int holder; // client that pulls; -1: none
    double speed;
    double base_wall, base_time; // the clock: base_time + (wall − base_wall) · speed
    cal_pace pace;
    double possible;             // simulated seconds a second of computing, smoothed
    double spent;                // s of computing since the last progress
    double published, described; // wall clock, when it was shown last
    int next_watch;              // client with whom the next descriptions begin
    uint32_t frame_number, epoch;
    char note[256]; // what went wrong last
    char hint[512]; // what could be changed; empty while it keeps up
    bool noticed;   // somebody was told that it is too slow
    cal_runner_mark marks[MARKS];
    int mark_count;
    cal_probes probes;
    bool with_contacts, with_q; // in frames, because pages ask for them
    cal_contact_point* contacts;
    double* control; // of the actuators; NULL: nobody touched one
};

// A line for all pages, or "": nothing.
void cal_runner_say(cal_runner* r, const char* text);
// The clock goes on from the present time.
void cal_runner_set_clock(cal_runner* r);
void cal_runner_fail(cal_runner* r, const cal_error* error, cal_status status);
void cal_runner_apply(cal_runner* r, const cal_view_command* c);
// Whether somebody waits for the thread's end.
bool cal_runner_is_ending(cal_runner* r);
