// Bytes to the viewer's port. As they are they stand for HTTP; after a first byte 'W' they come when the connection is a
// WebSocket already. Whatever comes, the server answers the next one.
#define _POSIX_C_SOURCE 200809L
#include "calder/calder_view.h"
#include "fuzz.h"
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 20, MOST = 40 }; // ms, answers

static int port;
static const char* token;

static void* serve(void* viewer) {
    cal_viewer_run(viewer, NULL);
    return NULL;
}

// One server for all inputs, until the process ends.
static void start(void) {
    cal_model* model = NULL;
    cal_run* run = NULL;
    cal_viewer* viewer = NULL;
    cal_run_sim_def sim = cal_default_run_sim_def();
    cal_viewer_def def = cal_default_viewer_def();
    pthread_t thread;
    signal(SIGPIPE, SIG_IGN);
    if (cal_model_generate("chain:n=3", &model, NULL) != CAL_OK ||
        cal_run_create_sim(model, &sim, &run, NULL) != CAL_OK ||
        cal_viewer_create(run, &def, &viewer, NULL) != CAL_OK || pthread_create(&thread, NULL, serve, viewer) != 0)
        abort();
    pthread_detach(thread);
    token = cal_viewer_token(viewer);
    port = atoi(strrchr(cal_viewer_address(viewer), ':') + 1);
}

static int dial(void) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    // What is left of a connection must not hold its port for a minute: there are thousands a second.
    const struct linger hard = {.l_onoff = 1, .l_linger = 0};
    if (s < 0 || setsockopt(s, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) != 0) abort();
    for (int tries = 0; connect(s, (const struct sockaddr*)&address, sizeof address) != 0; tries++) {
        if (tries == 12000) abort();
        poll(NULL, 0, 10);
    }
    return s;
}

static void send_all(int s, const void* bytes, size_t count) {
    while (count > 0) {
        const ssize_t sent = send(s, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) return;
        bytes = (const char*)bytes + sent;
        count -= (size_t)sent;
    }
}

// Reads until it ends, says nothing for a while, or has said enough; returns the bytes of the first answer.
static size_t hear(int s, char* first, size_t capacity, int patience) {
    char bytes[65536];
    size_t heard = 0;
    for (int i = 0; i < MOST; i++) {
        struct pollfd ready = {.fd = s, .events = POLLIN};
        if (poll(&ready, 1, patience) <= 0) break;
        const ssize_t count = recv(s, bytes, sizeof bytes, 0);
        if (count <= 0) break;
        if (heard == 0 && first) {
            heard = (size_t)count < capacity ? (size_t)count : capacity;
            memcpy(first, bytes, heard);
        }
        if (first) break;
    }
    return heard;
}

static void upgrade(int s) {
    char request[512], answer[64];
    const int length = snprintf(request, sizeof request,
                                "GET /live?token=%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://127.0.0.1:%d\r\n"
                                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: calder\r\n\r\n",
                                token, port, port);
    send_all(s, request, (size_t)length);
    hear(s, answer, sizeof answer, 60000);
}

// Whoever asks properly is answered.
static void expect_answer(void) {
    char request[128], answer[64];
    const int s = dial();
    const int length = snprintf(request, sizeof request, "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port);
    send_all(s, request, (size_t)length);
    const size_t heard = hear(s, answer, sizeof answer, 60000);
    close(s);
    if (heard < 12 || memcmp(answer, "HTTP/1.1 404", 12) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    static int rounds;
    if (port == 0) start();
    const bool live = count > 0 && bytes[0] == 'W';
    const int s = dial();
    if (live) upgrade(s);
    send_all(s, bytes + live, count - live);
    shutdown(s, SHUT_WR);
    hear(s, NULL, 0, PATIENCE);
    close(s);
    if (++rounds % 64 == 0) expect_answer();
    return 0;
}
