// The viewer's server against what no browser would send: malformed HTTP and WebSocket input, other sites, connections by the
// thousand, clients that never read. The simulation goes on, memory stays where it was, and a proper client is served after all.
#define _GNU_SOURCE
#include "support.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "calder/calder_view.h"

static cal_model* model;
static cal_run* run;
static cal_viewer* viewer;
static pthread_t thread;
static int port;
static char live[128]; // path with the token

static void* serve(void* unused) {
    (void)unused;
    cal_viewer_run(viewer, NULL);
    return NULL;
}

static int start_server(void** unused) {
    (void)unused;
    cal_error error = {CAL_OK, ""};
    cal_viewer_def def = cal_default_viewer_def();
    model = cal_test_model("mobile:s=2,l=3,o=4");
    cal_run_sim_def sim = cal_default_run_sim_def();
    sim.rests = true;
    if (cal_run_create_sim(model, &sim, &run, &error) != CAL_OK ||
        cal_viewer_create(run, &def, &viewer, &error) != CAL_OK) {
        print_error("%s\n", error.text);
        return -1;
    }
    port = atoi(strrchr(cal_viewer_address(viewer), ':') + 1);
    snprintf(live, sizeof live, "/live?token=%s", cal_viewer_token(viewer));
    return pthread_create(&thread, NULL, serve, NULL);
}

static int stop_server(void** unused) {
    (void)unused;
    cal_viewer_stop(viewer);
    pthread_join(thread, NULL);
    cal_viewer_destroy(viewer);
    cal_run_destroy(run);
    cal_model_destroy(model);
    return 0;
}

// --- A client of the plainest kind ----------------------------------------------------------------------------------------

// How long anybody waits for what must come: nobody does on a quiet computer.
enum { PATIENCE = 120000 }; // ms

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1000 * (int64_t)t.tv_sec + t.tv_nsec / 1000000;
}

static int dial(void) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s >= 0);
    for (const int64_t end = now() + PATIENCE; connect(s, (const struct sockaddr*)&address, sizeof address) != 0;) {
        assert_true(now() < end);
        usleep(20000);
    }
    return s;
}

// False: the server hung up in the middle.
static bool send_all(int s, const void* bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
        const ssize_t count = send(s, (const char*)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0) return false;
        sent += (size_t)count;
    }
    return true;
}

// Reads until there are `least` bytes, the other side closes, or a time passes. Returns how many; ended says whether it closed.
static size_t receive(int s, char* text, size_t capacity, size_t least, int milliseconds, bool* ended) {
    size_t used = 0;
    *ended = false;
    while (used < least && used + 1 < capacity) {
        struct pollfd waiting = {.fd = s, .events = POLLIN};
        if (poll(&waiting, 1, milliseconds) <= 0) break;
        const ssize_t count = recv(s, text + used, capacity - 1 - used, 0);
        if (count <= 0) {
            *ended = true;
            break;
        }
        used += (size_t)count;
    }
    text[used] = '\0';
    return used;
}

static int status_of(const char* request, char* answer, size_t capacity) {
    const int s = dial();
    bool ended;
    send_all(s, request, strlen(request));
    // Until its headers are there; some requests are answered by the end of the connection.
    size_t used = 0;
    answer[0] = '\0';
    for (ended = false; !ended && used + 2 < capacity && !strstr(answer, "\r\n\r\n");)
        used += receive(s, answer + used, capacity - used, 1, PATIENCE, &ended);
    close(s);
    int status = 0;
    if (sscanf(answer, "HTTP/1.1 %d", &status) != 1) sscanf(answer, "HTTP/1.0 %d", &status);
    return status;
}

static int get(const char* path, const char* host) {
    char request[1024], answer[4096];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);
    return status_of(request, answer, sizeof answer);
}

static void write_upgrade(char* request, size_t capacity, const char* path, const char* origin, const char* host) {
    snprintf(request, capacity,
             "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Protocol: calder\r\n%s%s%s\r\n",
             path, host, origin ? "Origin: " : "", origin ? origin : "", origin ? "\r\n" : "");
}

// A connection that was upgraded; -1 when it was refused.
static int upgrade_as(const char* path, const char* origin, const char* host) {
    char request[1024], answer[1024] = "";
    bool ended;
    const int s = dial();
    write_upgrade(request, sizeof request, path, origin, host);
    send_all(s, request, strlen(request));
    // Not a byte more than the headers: what follows belongs to whoever asked.
    size_t used = 0;
    while (used + 2 < sizeof answer && !strstr(answer, "\r\n\r\n") &&
           receive(s, answer + used, 2, 1, PATIENCE, &ended) == 1)
        used++;
    if (strncmp(answer, "HTTP/1.1 101", 12) == 0) return s;
    close(s);
    return -1;
}

static int upgrade(void) {
    char host[64], origin[80];
    snprintf(host, sizeof host, "127.0.0.1:%d", port);
    snprintf(origin, sizeof origin, "http://%s", host);
    return upgrade_as(live, origin, host);
}

// A frame of the protocol, masked as a client's must be.
static bool send_frame(int s, int opcode, const void* bytes, size_t size) {
    unsigned char frame[2048] = {(unsigned char)opcode}, *at = frame + 2;
    const unsigned char mask[4] = {1, 2, 3, 4};
    assert_true(size < sizeof frame - 16);
    if (size < 126) {
        frame[1] = (unsigned char)(0x80 | size);
    } else {
        frame[1] = 0x80 | 126;
        *at++ = (unsigned char)(size >> 8);
        *at++ = (unsigned char)size;
    }
    memcpy(at, mask, 4);
    at += 4;
    for (size_t i = 0; i < size; i++) *at++ = ((const unsigned char*)bytes)[i] ^ mask[i % 4];
    return send_all(s, frame, (size_t)(at - frame));
}

static bool say(int s, const char* text) { return send_frame(s, 0x81, text, strlen(text)); }

// Reads until one of two texts has come, or the other side hangs up. Returns which one it was, from 0; -1 for neither.
static int hears_first(int s, const char* words, const char* others) {
    static char text[1 << 16];
    const size_t longest = strlen(words) > strlen(others) ? strlen(words) : strlen(others);
    size_t used = 0;
    bool ended = false;
    for (const int64_t end = now() + PATIENCE; !ended && now() < end;) {
        used += receive(s, text + used, sizeof text - used, 1, PATIENCE, &ended);
        const char* const found[2] = {memmem(text, used, words, strlen(words)),
                                      memmem(text, used, others, strlen(others))};
        if (found[0] && (!found[1] || found[0] <= found[1])) return 0;
        if (found[1]) return 1;
        // A part of it may be the end of what has come.
        const size_t kept = used < longest ? used : longest;
        memmove(text, text + used - kept, kept);
        used = kept;
    }
    return -1;
}

static bool hears(int s, const char* words) { return hears_first(s, words, words) == 0; }

static bool hangs_up(int s) {
    char text[65536];
    bool ended = false;
    for (const int64_t end = now() + PATIENCE; now() < end && !ended;)
        receive(s, text, sizeof text, 1, PATIENCE, &ended);
    return ended;
}

// The simulated time of the newest frame that a proper client gets: the server is well, and the simulation goes on.
static double simulated_time(void) {
    static char text[1 << 20];
    int s = upgrade();
    // Who comes while hundreds are being hung up on may be, too, and comes again, as a page does.
    for (const int64_t end = now() + PATIENCE; s < 0 && now() < end; s = upgrade()) usleep(50000);
    assert_true(s >= 0);
    size_t used = 0;
    double time = -1;
    bool ended = false;
    while (time < 0 && !ended && used + 2 < sizeof text) {
        const size_t count = receive(s, text + used, sizeof text - used, 1, PATIENCE, &ended);
        if (count == 0) break;
        used += count;
        const char* frame = memmem(text, used, "CALF", 4);
        if (frame && (size_t)(frame - text) + 16 <= used) memcpy(&time, frame + 8, sizeof time);
    }
    close(s);
    assert_true(time >= 0);
    return time;
}

static void expect_progress(double since) {
    for (const int64_t end = now() + PATIENCE; now() < end; usleep(50000))
        if (simulated_time() > since + 0.2) return;
    fail_msg("the simulation stands still");
}

// Of malloc, not of the process: pages come and go as the system likes. A sanitizer keeps what was freed for a while, so that memory says
// nothing there.
static long kilobytes_in_use(void) {
    const struct mallinfo2 now = mallinfo2();
    return (long)((now.uordblks + now.hblkhd) / 1024);
}

// --- Tests ----------------------------------------------------------------------------------------------------------------

static void test_a_fixed_table_of_resources(void** unused) {
    (void)unused;
    char host[64];
    snprintf(host, sizeof host, "localhost:%d", port);
    const int page = get("/", host);
    assert_true(page == (cal_viewer_has_page() ? 200 : 503));
    assert_int_equal(get("/favicon.ico", host), 200);
    const char* const paths[] = {
        "/etc/passwd", "/../../etc/passwd", "/..%2f..%2fetc/passwd",  "/index.html",     "/.", "//", "/live",
        "/%00",        "/?x=1/..",          "/favicon.ico/../../etc", "/web/src/main.ts"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const int status = get(paths[i], host);
        // These are tidied up to "/"; nothing else is there.
        if (status == 200 && (strcmp(paths[i], "/.") == 0 || strcmp(paths[i], "//") == 0 ||
                              strcmp(paths[i], "/%00") == 0 || strstr(paths[i], "?x")))
            continue;
        if (status == 200) fail_msg("%s was answered", paths[i]);
    }
    char answer[4096], request[256];
    snprintf(request, sizeof request, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\n\r\nabc", host);
    assert_int_not_equal(status_of(request, answer, sizeof answer), 200);
    snprintf(request, sizeof request, "DELETE / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    assert_int_not_equal(status_of(request, answer, sizeof answer), 200);
}

static void test_other_sites_are_refused(void** unused) {
    (void)unused;
    char host[64], origin[80];
    snprintf(host, sizeof host, "127.0.0.1:%d", port);
    snprintf(origin, sizeof origin, "http://%s", host);
    assert_int_equal(get("/", "evil.example"), 403);
    assert_int_equal(get("/", "127.0.0.1:1"), 403);
    assert_int_equal(upgrade_as(live, "http://evil.example", host), -1);
    assert_int_equal(upgrade_as(live, NULL, host), -1);
    assert_int_equal(upgrade_as(live, "null", host), -1);
    assert_int_equal(upgrade_as(live, "http://evil.example:7878", "evil.example:7878"), -1);
    assert_int_equal(upgrade_as("/other", origin, host), -1);
    assert_int_equal(upgrade_as("/", origin, host), -1);
    const int s = upgrade_as(live, origin, host);
    assert_true(s >= 0);
    close(s);
}

// The page and its numbers are for everybody who reaches the port from a page of ours; what changes something needs the token.
static void test_without_the_token_one_looks(void** unused) {
    (void)unused;
    char host[64], origin[80], wrong[160];
    snprintf(host, sizeof host, "127.0.0.1:%d", port);
    snprintf(origin, sizeof origin, "http://%s", host);
    snprintf(wrong, sizeof wrong, "%s0", live);
    const char* const paths[] = {"/live", "/live?token=", "/live?token=0", wrong, "/live?tokens=x&x=token"};
    static const char* const changes[] = {
        "{\"do\":\"pause\"}", "{\"do\":\"speed\",\"speed\":1000}", "{\"do\":\"grab\",\"body\":1,\"point\":[0,0,0]}",
        "{\"do\":\"set\",\"tolerance\":1e-12}", "{\"do\":\"show\",\"kind\":\"q\",\"index\":1}"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const int s = upgrade_as(paths[i], origin, host);
        assert_true(s >= 0);
        assert_true(hears(s, "\"may\":false"));
        say(s, changes[i]);
        assert_true(hears(s, "may only look"));
        say(s, "{\"do\":\"watch\",\"body\":1}");
        assert_true(hears(s, "\"say\":\"body\""));
        close(s);
    }
    const int s = upgrade();
    assert_true(s >= 0 && hears(s, "\"may\":true"));
    close(s);
    expect_progress(simulated_time()); // nobody has paused it
    char token[40] = "";
    assert_int_equal(sscanf(strstr(cal_viewer_address(viewer), "?token=") + 7, "%39s", token), 1);
    assert_string_equal(token, cal_viewer_token(viewer));
    assert_int_equal(strlen(token), 32);
}

// Every answer names the page's own script and style by their hashes, and allows nothing else.
static void test_the_policy_is_sent(void** unused) {
    (void)unused;
    if (!cal_viewer_has_page()) skip();
    char request[128], answer[4096];
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port);
    assert_int_equal(status_of(request, answer, sizeof answer), 200);
    char* end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    *end = '\0';
    const char* policy = strstr(answer, "content-security-policy:");
    assert_non_null(policy);
    const char* const parts[] = {"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-",
                                 "frame-ancestors 'none'", "form-action 'none'"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(policy, parts[i])) fail_msg("no %s in %s", parts[i], policy);
    assert_null(strstr(policy, "unsafe"));
}

// It listens at 127.0.0.1 and nowhere else: 127.0.0.2 is this machine too, but another address.
static void test_it_listens_to_this_machine_only(void** unused) {
    (void)unused;
    const struct sockaddr_in other = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (const struct sockaddr*)&other, sizeof other), -1);
    close(s);
}

static void test_malformed_requests(void** unused) {
    (void)unused;
    const double began = simulated_time();
    static char filler[70000];
    memset(filler, 'A', sizeof filler - 1);
    const char* const requests[] = {
        "",
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\nHost: localhost\n\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /live HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "GET /live HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "GET /%%%%%%%%%zz HTTP/1.1\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\n\r\n",
        "CONNECT evil.example:80 HTTP/1.1\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const int s = dial();
        send_all(s, requests[i], strlen(requests[i]));
        close(s);
    }
    // Headers without an end.
    for (int i = 0; i < 3; i++) {
        const int s = dial();
        send_all(s, i == 0 ? "GET /" : i == 1 ? "GET / HTTP/1.1\r\nX: " : "GET / HTTP/1.1\r\n", i == 0 ? 5 : 16);
        send_all(s, filler, sizeof filler - 1);
        close(s);
    }
    // A good request with bytes changed, at random.
    cal_random seed = {3};
    for (int i = 0; i < 1500; i++) {
        char host[64], origin[80], request[1024];
        snprintf(host, sizeof host, "127.0.0.1:%d", port);
        snprintf(origin, sizeof origin, "http://%s", host);
        write_upgrade(request, sizeof request, i % 2 ? live : "/live", origin, host);
        const size_t length = strlen(request);
        for (int k = cal_random_below(&seed, 6); k >= 0; k--)
            request[cal_random_below(&seed, (int)length)] = (char)cal_random_bits(&seed);
        const int s = dial();
        send_all(s, request, length - (size_t)cal_random_below(&seed, 40));
        close(s);
    }
    expect_progress(began);
}

static void test_malformed_frames(void** unused) {
    (void)unused;
    const double began = simulated_time();
    const struct {
        unsigned char bytes[24];
        size_t size;
    } frames[] = {
        {{0x81, 0x02, '{', '}'}, 4},                                           // not masked
        {{0x83, 0x80, 1, 2, 3, 4}, 6},                                         // a code that does not exist
        {{0xf1, 0x80, 1, 2, 3, 4}, 6},                                         // bits that are reserved
        {{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 14}, // longer than anything
        {{0x81, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3, 4}, 14},    // two gigabytes, it says
        {{0x89, 0xfe, 0x10, 0x00, 1, 2, 3, 4}, 8},                             // a ping that is too long
        {{0x80, 0x81, 1, 2, 3, 4, 5}, 7},                                      // goes on with what never began
        {{0x88, 0x81, 1, 2, 3, 4, 5}, 7},                                      // half a reason to close
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        const int s = upgrade();
        assert_true(s >= 0);
        send_all(s, frames[i].bytes, frames[i].size);
        close(s);
    }
    cal_random seed = {4};
    for (int i = 0; i < 300; i++) {
        unsigned char noise[64];
        for (size_t k = 0; k < sizeof noise; k++) noise[k] = (unsigned char)cal_random_bits(&seed);
        if (i % 2) noise[0] = 0x81, noise[1] = (unsigned char)(0x80 | cal_random_below(&seed, 60));
        const int s = upgrade();
        if (s < 0) continue; // all places are taken until the server has seen the others leave
        send_all(s, noise, sizeof noise);
        close(s);
    }
    expect_progress(began);
}

static void test_messages_have_limits(void** unused) {
    (void)unused;
    char long_text[1500];
    memset(long_text, ' ', sizeof long_text);
    int s = upgrade();
    assert_true(s >= 0);
    send_frame(s, 0x81, long_text, sizeof long_text);
    assert_true(hangs_up(s));
    close(s);
    // In pieces, too.
    s = upgrade();
    assert_true(s >= 0);
    for (int i = 0; i < 20; i++) send_frame(s, i == 0 ? 0x01 : 0x00, long_text, 100);
    assert_true(hangs_up(s));
    close(s);
    // More often than anybody would.
    s = upgrade();
    assert_true(s >= 0);
    for (const int64_t end = now() + PATIENCE; now() < end && say(s, "{\"do\":\"run\"}");) continue;
    assert_true(hangs_up(s));
    close(s);
    // Nonsense is answered, not obeyed, and the connection stays.
    s = upgrade();
    assert_true(s >= 0);
    say(s, "{\"do\":\"fly\"}");
    assert_true(hears(s, "with a known"));
    close(s);
}

static void test_who_leaves_lets_go(void** unused) {
    (void)unused;
    const int a = upgrade(), b = upgrade();
    assert_true(a >= 0 && b >= 0);
    say(a, "{\"do\":\"grab\",\"body\":1,\"point\":[0,0,0]}");
    // Messages are answered in their order: when this one is, the first was obeyed.
    say(a, "{\"do\":\"fly\"}");
    assert_true(hears(a, "with a known"));
    say(b, "{\"do\":\"grab\",\"body\":2,\"point\":[0,0,0]}");
    assert_true(hears(b, "Somebody else holds the mouse"));
    close(a);
    bool free = false;
    for (const int64_t end = now() + PATIENCE; now() < end && !free;) {
        const int c = upgrade();
        assert_true(c >= 0);
        say(c, "{\"do\":\"grab\",\"body\":2,\"point\":[0,0,0]}");
        say(c, "{\"do\":\"fly\"}");
        free = hears_first(c, "Somebody else holds the mouse", "with a known") == 1;
        close(c);
    }
    assert_true(free);
    close(b);
}

static void test_a_thousand_connections(void** unused) {
    (void)unused;
    const double began = simulated_time();
    // Some first, so that what is kept for reuse is there.
    for (int i = 0; i < 100; i++) close(dial());
    const long before = kilobytes_in_use();
    for (int i = 0; i < 1000; i++) {
        if (i % 10 == 0) {
            const int s = upgrade();
            if (s >= 0) close(s);
        } else {
            const int s = dial();
            if (i % 3 == 0) send_all(s, "GET / HT", 8);
            close(s);
        }
    }
    expect_progress(began);
    const long growth = kilobytes_in_use() - before;
    if (growth > 8192 && !CAL_TEST_SANITIZED) fail_msg("a thousand connections left %ld KB behind", growth);
}

static void test_clients_that_never_read(void** unused) {
    (void)unused;
    enum { COUNT = 20 };
    const double began = simulated_time();
    int s[COUNT];
    for (int i = 0; i < COUNT; i++) {
        s[i] = upgrade();
        assert_true(s[i] >= 0);
        const int small = 4096;
        setsockopt(s[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    }
    usleep(500000);
    const long before = kilobytes_in_use();
    usleep(2000000);
    const long growth = kilobytes_in_use() - before;
    if (growth > 4096 && !CAL_TEST_SANITIZED) fail_msg("clients that never read cost %ld KB in two seconds", growth);
    expect_progress(began + 1);
    for (int i = 0; i < COUNT; i++) close(s[i]);
}

// A thousand pages at the same time: as many as are read get frames, the others cost a few frames each, and who has the token
// finds a place though lookers took all of theirs.
static void test_a_thousand_pages(void** unused) {
    (void)unused;
    enum { COUNT = 1000 };
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (limit.rlim_max < 2 * COUNT + 256 || setrlimit(RLIMIT_NOFILE, &limit) != 0) skip();
    // One of its own: how many connections there may be is decided when it begins.
    assert_int_equal(stop_server(NULL), 0);
    assert_int_equal(start_server(NULL), 0);
    char host[64], origin[80];
    static int s[COUNT];
    int places = 0;
    snprintf(host, sizeof host, "127.0.0.1:%d", port);
    snprintf(origin, sizeof origin, "http://%s", host);
    const double began = simulated_time();
    for (int i = 0; i < COUNT; i++) {
        s[i] = upgrade_as("/live", origin, host);
        places += s[i] >= 0;
    }
    assert_int_equal(places, COUNT);
    const int holder = upgrade();
    assert_true(holder >= 0);
    say(holder, "{\"do\":\"fly\"}");
    assert_true(hears(holder, "with a known"));
    expect_progress(began);
    assert_true(hears(s[0], "CALF") && hears(s[COUNT - 1], "CALF"));
    close(holder);
    for (int i = 0; i < COUNT; i++) close(s[i]);
}

static void test_a_taken_port_is_said(void** unused) {
    (void)unused;
    cal_viewer* second = NULL;
    cal_error error = {CAL_OK, ""};
    cal_viewer_def def = cal_default_viewer_def();
    def.port = port;
    assert_int_equal(cal_viewer_create(run, &def, &second, &error), CAL_BAD_ARGUMENT);
    assert_null(second);
    assert_non_null(strstr(error.text, "port"));
    def.port = 0;
    assert_int_equal(cal_viewer_create(run, &def, &second, &error), CAL_OK);
    assert_string_not_equal(cal_viewer_address(second), cal_viewer_address(viewer));
    cal_viewer_destroy(second);
    def.listen = "203.0.113.7"; // nobody's
    assert_int_equal(cal_viewer_create(run, &def, &second, &error), CAL_BAD_ARGUMENT);
    def = cal_default_viewer_def();
    def.cookie = 0;
    assert_int_equal(cal_viewer_create(run, &def, &second, &error), CAL_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "cal_default_viewer_def"));
}

// A program with a loop of its own shows what it does: a page gets frames of the times that the program reached.
static void test_a_programs_own_loop_is_shown(void** unused) {
    (void)unused;
    cal_sim_def def = cal_default_sim_def();
    cal_viewer_def how = cal_default_viewer_def();
    cal_sim* sim = NULL;
    cal_run* own = NULL;
    cal_viewer* shown = NULL;
    assert_int_equal(cal_sim_create(model, &def, &sim, NULL), CAL_OK);
    assert_int_equal(cal_run_of_sim(sim, &own, NULL), CAL_OK);
    assert_int_equal(cal_viewer_create(own, &how, &shown, NULL), CAL_OK);
    const int before = port;
    port = atoi(strrchr(cal_viewer_address(shown), ':') + 1);
    char request[1024], host[64], origin[80];
    static char text[1 << 20];
    snprintf(host, sizeof host, "127.0.0.1:%d", port);
    snprintf(origin, sizeof origin, "http://%s", host);
    char path[128];
    snprintf(path, sizeof path, "/live?token=%s", cal_viewer_token(shown));
    write_upgrade(request, sizeof request, path, origin, host);
    const int s = dial();
    send_all(s, request, strlen(request));
    double time = -1;
    uint32_t number = 0;
    size_t used = 0;
    // It cannot be paused from a page, and says why.
    static const char why[] = "advances this run by itself";
    bool ended = false;
    const int64_t end = now() + PATIENCE;
    for (int step = 1; !ended && now() < end && (time < 0.5 || !memmem(text, used, why, strlen(why))); step++) {
        // No further than 2 s: the room is enough for all frames.
        assert_int_equal(cal_sim_advance(sim, step < 400 ? step / 200.0 : 2.0, NULL), CAL_OK);
        assert_int_equal(cal_viewer_show(shown, NULL), CAL_OK);
        used += receive(s, text + used, sizeof text - used, 1, 20, &ended);
        for (char* frame = text; (frame = memmem(frame, used - (size_t)(frame - text), "CALF", 4)); frame++)
            if ((size_t)(frame - text) + 16 <= used) {
                memcpy(&number, frame + 4, sizeof number);
                memcpy(&time, frame + 8, sizeof time);
            }
        if (number > 0) send_frame(s, 0x82, &number, sizeof number); // it has arrived
        if (step == 50) say(s, "{\"do\":\"pause\"}");
    }
    if (!(time >= 0.5 && time <= cal_sim_time(sim))) fail_msg("the last frame is of %g s; %zu bytes came", time, used);
    assert_non_null(memmem(text, used, why, strlen(why)));
    close(s);
    port = before;
    cal_viewer_destroy(shown);
    cal_run_destroy(own);
    cal_sim_destroy(sim);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fixed_table_of_resources),
        cmocka_unit_test(test_other_sites_are_refused),
        cmocka_unit_test(test_without_the_token_one_looks),
        cmocka_unit_test(test_the_policy_is_sent),
        cmocka_unit_test(test_it_listens_to_this_machine_only),
        cmocka_unit_test(test_malformed_requests),
        cmocka_unit_test(test_malformed_frames),
        cmocka_unit_test(test_messages_have_limits),
        cmocka_unit_test(test_who_leaves_lets_go),
        cmocka_unit_test(test_a_thousand_connections),
        cmocka_unit_test(test_clients_that_never_read),
        cmocka_unit_test(test_a_thousand_pages),
        cmocka_unit_test(test_a_taken_port_is_said),
        cmocka_unit_test(test_a_programs_own_loop_is_shown),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
