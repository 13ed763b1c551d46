// The thread that advances a run at its own pace, and what it leaves for others to fetch.
//
//     server ── commands ──▸ ┌ queue ┐ ──▸  apply, advance to where the clock says, sample
//            ◂── frame ───── └ slots ┘ ◂──  60 times a second
//
// It never waits for anybody: a frame that nobody fetched is overwritten by the next one.
#pragma once
#include "view/command.h"
#include "view/probes.h"
#include "calder/calder_run.h"
#include <stdio.h>

enum { CAL_VIEW_CLIENTS = 1024 + 32, CAL_VIEW_CHANNELS = 24, CAL_VIEW_CONTACTS_LIMIT = 512, CAL_VIEW_ROOM = 64 };
enum { CAL_VIEW_STATUS = 1 << 15 }; // bytes: 17,000 when every byte of every name is written as six

// A frame is bytes as they go over the wire, little-endian, behind CAL_VIEW_ROOM bytes of room for a protocol's header:
//
//      0  u32  "CALF"                       48  f32 × 3  point that is pulled, world
//      4  u32  number of the frame          60  f32 × 3  target
//      8  f64  time, s                      72  f32 × 3  force, N
//     16  u64  hash of the state            84  u32      count of channels, those that pages asked for included
//     24  f64  speed that is asked for      88  u32      count of contacts
//     32  u32  flags                        92  u32      count of q
//     36  i32  body that is pulled, or -2   96  f64 …    channels
//     40  u32  epoch: counts resets              f32 × 7 …  position and quaternion of each drawn body
//     44  i32  client that pulls, or -1          f32 × 6 …  point and force of each contact, world
//                                                f32 …      q
enum { CAL_FRAME_RUNNING = 1, CAL_FRAME_FAILED = 2, CAL_FRAME_BEHIND = 4, CAL_FRAME_HEADER = 96 };

typedef struct cal_runner cal_runner;

typedef struct cal_runner_def {
    cal_run* run;
    int drawn_count; // bodies whose poses are sent
    bool paused;
    bool shown;               // somebody else advances the run, and calls cal_runner_show
    void (*wake)(void* user); // there is something to fetch; called from the runner's thread
    void* user;
    const char* note;   // what is said at first; NULL: nothing
    const char* advice; // what helps this model where it is too slow; NULL: nothing that is known
    // It is too slow, for the first time, and why; called from the runner's thread. NULL: nobody wants to know.
    void (*notice)(void* user, const char* text);
    void* notice_user;
} cal_runner_def;

// All channels: the run's, then the runner's own on pace.
int cal_runner_channels(const cal_run* run, cal_channel channels[CAL_VIEW_CHANNELS]);

cal_status cal_runner_create(const cal_runner_def* def, cal_runner** out, cal_error* error);
cal_status cal_runner_start(cal_runner* runner, cal_error* error);
// Does without a thread what it does in one round, but for advancing: commands, a frame, texts.
cal_status cal_runner_show(cal_runner* runner, cal_error* error);
// Ends the thread; commands may still be posted, and are forgotten. NULL is allowed, here and in the next one.
void cal_runner_stop(cal_runner* runner);
void cal_runner_destroy(cal_runner* runner);

// False when too many commands are waiting.
bool cal_runner_post(cal_runner* runner, const cal_view_command* command);
// The newest frame, with its room; the same pointer as before when there is none newer. Valid until the next call.
unsigned char* cal_runner_frame(cal_runner* runner, size_t* size, uint32_t* number);
// Copies of texts with their lengths; the version is 0 before the first one. Both return the version; text is cut at
// capacity.
uint32_t cal_runner_status(cal_runner* runner, char* text, size_t capacity, size_t* length);
uint32_t cal_runner_watched(cal_runner* runner, int client, char* text, size_t capacity, size_t* length);
