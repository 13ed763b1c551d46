// HTTP for the page, WebSocket for frames and commands.
#pragma once
#include "view/runner.h"
#include "view/upload.h"

typedef struct cal_server cal_server;

typedef struct cal_server_def {
    const char* listen; // an address of this machine
    int port;           // 0: the first free one from CAL_VIEW_PORT
    char* scene;        // JSON behind CAL_VIEW_ROOM bytes of room; the caller's
    size_t scene_length;
    int body_count;
    int card_count;     // of the gallery; 0: nothing can be opened
    const char* upload; // folder for what is dropped onto the page; NULL: nothing may be
    bool framed;        // pages of this machine may show it in a frame
    const char* token;  // whoever shows it may change things; others look
} cal_server_def;

enum { CAL_VIEW_PORT = 7878, CAL_VIEW_PORTS = 100 };

cal_status cal_server_create(const cal_server_def* def, cal_server** out, cal_error* error);
void cal_server_destroy(cal_server* server); // NULL is allowed
int cal_server_port(const cal_server* server);
// What somebody chose to open, which stops the server: a card's number or CAL_NONE, and a file in the folder for uploads or "".
int cal_server_chosen(const cal_server* server, const char** file);
// Serves until cal_server_stop; the runner must outlive it.
void cal_server_run(cal_server* server, cal_runner* runner);
// Serves what is there to be served, and returns.
void cal_server_poll(cal_server* server, cal_runner* runner);
// Both from any thread, or from a signal's handler.
void cal_server_stop(cal_server* server);
void cal_server_wake(void* server);
