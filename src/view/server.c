// The server, on libwebsockets. One thread, one table of resources: no request reaches the file system.
//
// A client has at most IN_FLIGHT frames on the way: it says which one it has drawn (four bytes, the frame's number), and
// gets the newest one then, not those that it missed. So a slow client gets fewer frames, one that never answers gets no
// more than the first few, and nothing piles up for either.
#define _POSIX_C_SOURCE 200809L
#include "view/server.h"

#include <libwebsockets.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "view/access.h"
#include "view/page.h"

enum {
    IN_FLIGHT = 4,
    TEXT_CAPACITY = CAL_VIEW_STATUS,
    CHUNK = 16384,
    MESSAGES_A_SECOND = 400,
    SEND_BUFFER = 1 << 18,
    KEPT_PLACES = 32,  // of all, for those that may change something: who only looks cannot keep them out
    HTTP_PLACES = 128, // connections that are no viewers (yet)
    OTHER_FILES = 64,  // that the process has open beside the connections, at least
    POLICY = 1024
};
static const char LIVE[] = "/live", DROP[] = "/drop";
static const char nowhere[] = "frame-ancestors 'none'";
// Notebooks are pages of this machine, or of an editor.
static const char in_notebooks[] = "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* https://localhost:* "
                                   "https://127.0.0.1:* vscode-webview:";

// One resource for every path that exists.
static const char icon[] = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">"
                           "<path d=\"M16 2v7M6 14l20-5M6 14v6M26 9v8\" stroke=\"#888\" stroke-width=\"1.5\"/>"
                           "<circle cx=\"6\" cy=\"24\" r=\"5\" fill=\"#d62a24\"/>"
                           "<circle cx=\"26\" cy=\"21\" r=\"4\" fill=\"#245aa6\"/></svg>";

// What libwebsockets keeps for each connection.
typedef struct session {
    int client; // -1: not a viewer (yet)
    struct lws* wsi;
    // HTTP
    cal_upload upload;
    bool uploads;
    const char* refusal; // of an upload, said when all of it has come; NULL: it is taken
    const unsigned char* body;
    size_t body_size, body_sent;
    // WebSocket
    bool may_change; // it showed the token
    bool greeted, has_scene;
    char note[256]; // for this client alone
    uint32_t status_version, watched_version, frame;
    int in_flight;
    double allowance, counted; // messages that it may still send; when that was counted
    size_t message_length;
    unsigned char message[CAL_VIEW_MESSAGE_LIMIT];
} session;

struct cal_server {
    cal_server_def def;
    struct lws_context* context;
    cal_runner* runner;
    int port;
    char machine[128], listen[64], policy[POLICY];
    session* clients[CAL_VIEW_CLIENTS];
    int holder; // client that has the mouse; -1: none
    cal_upload_sum uploaded;
    int chosen; // card, or CAL_NONE
    char chosen_file[CAL_UPLOAD_PATH + 1];
    atomic_bool stop;
};

static double wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// --- HTTP -----------------------------------------------------------------------------------------------------------------

static bool read_header(struct lws* wsi, enum lws_token_indexes token, char* text, int capacity) {
    return lws_hdr_total_length(wsi, token) > 0 && lws_hdr_copy(wsi, text, capacity, token) > 0;
}

static bool is_for_us(const cal_server* server, struct lws* wsi, char host[256]) {
    return read_header(wsi, WSI_TOKEN_HOST, host, 256) &&
           cal_access_host(host, server->listen, server->machine, server->port);
}

static bool add_header(struct lws* wsi, const char* name, const char* value, unsigned char** p, unsigned char* end) {
    return lws_add_http_header_by_name(wsi, (const unsigned char*)name, (const unsigned char*)value, (int)strlen(value),
                                       p, end) == 0;
}

// Whether the address that is asked for has the token.
static bool shows_token(const cal_server* server, struct lws* wsi) {
    char argument[2 * CAL_TOKEN_MOST];
    static const char name[] = "token=";
    const char* shown = lws_get_urlarg_by_name(wsi, name, argument, sizeof argument);
    return shown && cal_access_token(shown, server->def.token);
}

// The page's own policy, which allows its script and its style and nothing else, and who may show it in a frame.
static void write_policy(cal_server* server) {
    static const char head[] = "http-equiv=\"Content-Security-Policy\" content=\"";
    const size_t length = sizeof head - 1;
    size_t used = 0, at = 0;
    while (at + length < cal_page_size && memcmp(cal_page + at, head, length) != 0) at++;
    for (at += length; at < cal_page_size && cal_page[at] != '"' && used + 1 < sizeof server->policy; at++)
        server->policy[used++] = (char)cal_page[at];
    snprintf(server->policy + used, sizeof server->policy - used, "%s; %s", used ? "" : "default-src 'none'",
             server->def.framed ? in_notebooks : nowhere);
}

static int answer(struct lws* wsi, session* s, unsigned int code, const char* type, const void* body, size_t size) {
    const cal_server* server = lws_context_user(lws_get_context(wsi));
    unsigned char buffer[LWS_PRE + 2048], *start = buffer + LWS_PRE, *p = start, *end = buffer + sizeof buffer - 1;
    if (lws_add_http_common_headers(wsi, code, type, size, &p, end) ||
        !add_header(wsi, "content-security-policy:", server->policy, &p, end) ||
        !add_header(wsi, "x-content-type-options:", "nosniff", &p, end) ||
        !add_header(wsi, "referrer-policy:", "no-referrer", &p, end) ||
        !add_header(wsi, "cross-origin-resource-policy:", "same-origin", &p, end) ||
        !add_header(wsi, "cache-control:", "no-store", &p, end) || lws_finalize_write_http_header(wsi, start, &p, end))
        return 1;
    s->body = body;
    s->body_size = size;
    s->body_sent = 0;
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, 30);
    lws_callback_on_writable(wsi);
    return 0;
}

static int answer_text(struct lws* wsi, session* s, unsigned int code, const char* text) {
    return answer(wsi, s, code, "text/plain; charset=utf-8", text, strlen(text));
}

// A page of ours sends a file of a model.
static int begin_upload(cal_server* server, struct lws* wsi, session* s, const char* host) {
    char origin[300];
    if (!server->uploaded.folder) return answer_text(wsi, s, 404, "There is nothing here.\n");
    s->refusal = NULL;
    if (!read_header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin) || !cal_access_origin(origin, host))
        s->refusal = "Only the viewer's own page may send files.\n";
    else if (!shows_token(server, wsi))
        s->refusal = "Files are taken from the address that was printed, with its token.\n";
    s->uploads = true;
    s->upload = (cal_upload){.failed = false};
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, 30);
    return 0;
}

static int end_upload(struct lws* wsi, session* s) {
    if (!s->uploads) return -1;
    s->uploads = false;
    if (s->refusal) return answer_text(wsi, s, 403, s->refusal);
    return cal_upload_end(&s->upload) ? answer_text(wsi, s, 200, "It is here.\n")
                                      : answer_text(wsi, s, 400, "This file cannot be taken.\n");
}

static int take_upload(cal_server* server, struct lws* wsi, session* s, const void* bytes, size_t size) {
    if (!s->uploads) return -1; // nobody asked for one
    if (s->refusal) return 0;   // it has as long as it had at first
    cal_upload_take(&s->upload, &server->uploaded, bytes, size);
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, 30);
    return 0;
}

static int answer_request(cal_server* server, struct lws* wsi, session* s, const char* path, size_t length) {
    char host[256];
    if (!is_for_us(server, wsi, host)) return answer_text(wsi, s, 403, "This viewer is not at that name.\n");
    if (lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0 && strcmp(path, DROP) == 0)
        return begin_upload(server, wsi, s, host);
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0) return answer_text(wsi, s, 405, "Only GET is answered.\n");
    if (strlen(path) != length) return answer_text(wsi, s, 404, "There is nothing here.\n");
    if (strcmp(path, "/") == 0 && cal_page_size > 0)
        return answer(wsi, s, 200, "text/html; charset=utf-8", cal_page, cal_page_size);
    if (strcmp(path, "/") == 0)
        return answer_text(wsi, s, 503, "This build of calder has no page: npm was not there when it was built.\n");
    if (strcmp(path, "/favicon.ico") == 0) return answer(wsi, s, 200, "image/svg+xml", icon, sizeof icon - 1);
    return answer_text(wsi, s, 404, "There is nothing here.\n");
}

static int send_body(struct lws* wsi, session* s) {
    unsigned char buffer[LWS_PRE + CHUNK];
    if (!s->body) return 0;
    const size_t left = s->body_size - s->body_sent, size = left < CHUNK ? left : CHUNK;
    memcpy(buffer + LWS_PRE, s->body + s->body_sent, size);
    s->body_sent += size;
    const bool last = s->body_sent == s->body_size;
    if (lws_write(wsi, buffer + LWS_PRE, size, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0) return -1;
    if (!last) {
        lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, 30);
        lws_callback_on_writable(wsi);
        return 0;
    }
    s->body = NULL;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

// --- Clients ----------------------------------------------------------------------------------------------------------------

// A page of ours, at the one address where there is something to connect to, and a place left.
static bool may_connect(cal_server* server, struct lws* wsi, session* s) {
    char host[256], origin[300], path[16];
    int free = 0;
    for (int i = 0; i < CAL_VIEW_CLIENTS; i++) free += !server->clients[i];
    s->may_change = shows_token(server, wsi);
    return free > (s->may_change ? 0 : KEPT_PLACES) && is_for_us(server, wsi, host) &&
           read_header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin) && cal_access_origin(origin, host) &&
           read_header(wsi, WSI_TOKEN_GET_URI, path, sizeof path) && strcmp(path, LIVE) == 0;
}

static int welcome(cal_server* server, struct lws* wsi, session* s) {
    int client = 0;
    while (client < CAL_VIEW_CLIENTS && server->clients[client]) client++;
    if (client == CAL_VIEW_CLIENTS) return -1;
    // What waits in the socket is late: a little is enough.
    const int size = SEND_BUFFER;
    setsockopt(lws_get_socket_fd(wsi), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    *s = (session){
        .client = client, .wsi = wsi, .may_change = s->may_change, .allowance = MESSAGES_A_SECOND, .counted = wall()};
    server->clients[client] = s;
    lws_callback_on_writable(wsi);
    return 0;
}

static void let_go(cal_server* server, int client) {
    cal_view_command drop = {.verb = CAL_VIEW_DROP, .client = client, .body = CAL_NONE};
    if (server->holder != client) return;
    cal_runner_post(server->runner, &drop);
    server->holder = -1;
}

static void leave(cal_server* server, session* s) {
    if (s->client < 0 || server->clients[s->client] != s) return;
    cal_view_command ignore = {.verb = CAL_VIEW_WATCH, .client = s->client, .body = CAL_NONE};
    let_go(server, s->client);
    cal_runner_post(server->runner, &ignore);
    server->clients[s->client] = NULL;
    s->client = -1;
}

static void tell(session* s, const char* text) {
    snprintf(s->note, sizeof s->note, "%s", text);
    lws_callback_on_writable(s->wsi);
}

// Ends this viewer, so that whoever made it can make another one.
static void choose(cal_server* server, session* s, const cal_view_command* command) {
    const bool file = command->verb == CAL_VIEW_LOAD;
    if (file ? !server->uploaded.folder || !cal_upload_path_is_good(command->file)
             : command->index >= server->def.card_count) {
        tell(s, file ? "That file cannot be opened." : "There is no such card.");
        return;
    }
    server->chosen = file ? CAL_NONE : command->index;
    snprintf(server->chosen_file, sizeof server->chosen_file, "%s", file ? command->file : "");
    cal_server_stop(server);
}

static void run_command(cal_server* server, session* s, cal_view_command* command) {
    command->client = s->client;
    if (!s->may_change && command->verb != CAL_VIEW_WATCH) {
        tell(s, "This page may only look: open the address that was printed, with its token.");
        return;
    }
    if (command->verb == CAL_VIEW_GRAB && server->holder >= 0 && server->holder != s->client) {
        tell(s, "Somebody else holds the mouse.");
        return;
    }
    if (command->verb == CAL_VIEW_OPEN || command->verb == CAL_VIEW_LOAD) {
        choose(server, s, command);
        return;
    }
    if (command->verb == CAL_VIEW_DROP) {
        let_go(server, s->client);
        return;
    }
    if (!cal_runner_post(server->runner, command))
        tell(s, "Too many commands are waiting.");
    else if (command->verb == CAL_VIEW_GRAB)
        server->holder = s->client;
    else if (command->verb == CAL_VIEW_RESET)
        server->holder = -1;
}

// False when it sends more than anybody would.
static bool count_message(session* s) {
    const double now = wall();
    s->allowance += MESSAGES_A_SECOND * fmax(now - s->counted, 0); // a clock may go back
    if (s->allowance > MESSAGES_A_SECOND) s->allowance = MESSAGES_A_SECOND;
    s->counted = now;
    return --s->allowance >= 0;
}

static int hang_up(struct lws* wsi, enum lws_close_status code, const char* why) {
    lws_close_reason(wsi, code, (unsigned char*)(uintptr_t)why, strlen(why));
    return -1;
}

static int receive(cal_server* server, struct lws* wsi, session* s, const void* bytes, size_t length) {
    if (s->message_length + length > sizeof s->message)
        return hang_up(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "message too large");
    if (length > 0) memcpy(s->message + s->message_length, bytes, length);
    s->message_length += length;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi) > 0) return 0;
    const size_t size = s->message_length;
    s->message_length = 0;
    if (!count_message(s)) return hang_up(wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION, "too many messages");
    if (lws_frame_is_binary(wsi)) {
        uint32_t number;
        if (size != sizeof number) return hang_up(wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION, "not a frame's number");
        memcpy(&number, s->message, sizeof number);
        if (s->in_flight > 0 && number <= s->frame) s->in_flight--;
        lws_callback_on_writable(wsi);
        return 0;
    }
    cal_view_command command;
    cal_error error = {CAL_OK, ""};
    if (cal_view_command_parse((const char*)s->message, size, server->def.body_count, &command, &error))
        run_command(server, s, &command);
    else
        tell(s, error.text);
    return 0;
}

// --- Sending, one message a call ----------------------------------------------------------------------------------------------

static int send_text(struct lws* wsi, unsigned char* text, size_t length) {
    lws_callback_on_writable(wsi);
    return lws_write(wsi, text, length, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

static size_t write_note(session* s, unsigned char* text, size_t capacity) {
    FILE* file = fmemopen(text, capacity, "w");
    if (!file) return 0;
    fputs("{\"say\":\"note\",\"text\":", file);
    cal_write_json_text(file, s->note);
    fputs("}", file);
    const long length = ftell(file);
    fclose(file);
    return length > 0 ? (size_t)length : 0;
}

static int send_frame(cal_server* server, struct lws* wsi, session* s) {
    size_t size;
    uint32_t number;
    unsigned char* frame = cal_runner_frame(server->runner, &size, &number);
    if (number == s->frame || number == 0 || s->in_flight >= IN_FLIGHT) return 0;
    s->frame = number;
    s->in_flight++;
    return lws_write(wsi, frame + CAL_VIEW_ROOM, size, LWS_WRITE_BINARY) < 0 ? -1 : 0;
}

static int send_pending(cal_server* server, struct lws* wsi, session* s) {
    unsigned char buffer[LWS_PRE + TEXT_CAPACITY], *text = buffer + LWS_PRE;
    size_t length;
    if (lws_send_pipe_choked(wsi)) {
        lws_callback_on_writable(wsi);
        return 0;
    }
    if (!s->greeted) {
        s->greeted = true;
        const int size =
            snprintf((char*)text, TEXT_CAPACITY, "{\"say\":\"hello\",\"client\":%d,\"may\":%s,\"version\":\"%s\"}",
                     s->client, s->may_change ? "true" : "false", cal_version());
        return send_text(wsi, text, (size_t)size);
    }
    if (!s->has_scene) {
        s->has_scene = true;
        return send_text(wsi, (unsigned char*)server->def.scene + CAL_VIEW_ROOM, server->def.scene_length);
    }
    if (s->note[0]) {
        length = write_note(s, text, TEXT_CAPACITY);
        s->note[0] = '\0';
        if (length > 0) return send_text(wsi, text, length);
    }
    uint32_t version = cal_runner_status(server->runner, (char*)text, TEXT_CAPACITY, &length);
    if (version != s->status_version) {
        s->status_version = version;
        return send_text(wsi, text, length);
    }
    version = cal_runner_watched(server->runner, s->client, (char*)text, TEXT_CAPACITY, &length);
    if (version != s->watched_version && length > 0) {
        s->watched_version = version;
        return send_text(wsi, text, length);
    }
    return send_frame(server, wsi, s);
}

static void offer_news(cal_server* server) {
    for (int i = 0; i < CAL_VIEW_CLIENTS; i++)
        if (server->clients[i]) lws_callback_on_writable(server->clients[i]->wsi);
}

// --- libwebsockets ------------------------------------------------------------------------------------------------------------

static int call_back(struct lws* wsi, enum lws_callback_reasons reason, void* user, void* in, size_t length) {
    session* s = user;
    struct lws_context* context = lws_get_context(wsi);
    cal_server* server = context ? lws_context_user(context) : NULL;
    if (!server) return 0;
    switch (reason) {
    case LWS_CALLBACK_HTTP: s->client = -1; return answer_request(server, wsi, s, in, length);
    case LWS_CALLBACK_HTTP_BODY: return take_upload(server, wsi, s, in, length);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION: return end_upload(wsi, s);
    case LWS_CALLBACK_CLOSED_HTTP:
        if (s && s->uploads) cal_upload_end(&s->upload);
        return 0;
    case LWS_CALLBACK_HTTP_WRITEABLE: return send_body(wsi, s);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return may_connect(server, wsi, s) ? 0 : -1;
    case LWS_CALLBACK_ESTABLISHED: return welcome(server, wsi, s);
    case LWS_CALLBACK_RECEIVE: return receive(server, wsi, s, in, length);
    case LWS_CALLBACK_SERVER_WRITEABLE: return s->client >= 0 ? send_pending(server, wsi, s) : 0;
    case LWS_CALLBACK_CLOSED:
        if (s) leave(server, s);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED: offer_news(server); return 0;
    default: return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {"calder", call_back, sizeof(session), CAL_VIEW_MESSAGE_LIMIT, 0, NULL, 0}, {NULL, NULL, 0, 0, 0, NULL, 0}};

// A client that answers no ping for so long is gone.
static const lws_retry_bo_t patience = {.secs_since_valid_ping = 20, .secs_since_valid_hangup = 40};

static struct lws_vhost* listen_on(cal_server* server, struct lws_context_creation_info* info, int port) {
    info->port = port;
    server->port = port;
    return lws_create_vhost(server->context, info);
}

// How many connections there may be. One that the process has no descriptor for could not even be refused, and would be offered
// again without end.
static unsigned int count_descriptors(void) {
    struct rlimit limit;
    const rlim_t most = CAL_VIEW_CLIENTS + HTTP_PLACES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= most + OTHER_FILES) return (unsigned int)most;
    return limit.rlim_cur > 2 * OTHER_FILES ? (unsigned int)limit.rlim_cur - OTHER_FILES : OTHER_FILES;
}

cal_status cal_server_create(const cal_server_def* def, cal_server** out, cal_error* error) {
    cal_server* server = cal_allocate(1, sizeof *server);
    *out = NULL;
    if (!server) return cal_fail(error, CAL_NO_MEMORY, "no memory for the viewer's server");
    server->def = *def;
    server->holder = -1;
    server->chosen = CAL_NONE;
    server->uploaded.folder = def->upload;
    cal_upload_measure(&server->uploaded);
    write_policy(server);
    snprintf(server->listen, sizeof server->listen, "%s", def->listen);
    if (gethostname(server->machine, sizeof server->machine - 1) != 0) server->machine[0] = '\0';
    lws_set_log_level(0, NULL);
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN,
                                             .iface = server->listen,
                                             .protocols = protocols,
                                             .user = server,
                                             .gid = -1,
                                             .uid = -1,
                                             .max_http_header_pool = 64,
                                             .keepalive_timeout = 5,
                                             .timeout_secs = 5,
                                             .fd_limit_per_thread = count_descriptors(),
                                             .retry_and_idle_policy = &patience,
                                             .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                                                        LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                                                        LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME};
    // With both protocols in one socket libwebsockets would ignore an address of the older one and listen everywhere.
    if (!strchr(server->listen, ':')) info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    server->context = lws_create_context(&info);
    if (!server->context) {
        cal_free(server);
        return cal_fail(error, CAL_NO_MEMORY, "libwebsockets could not start");
    }
    const int first = def->port > 0 ? def->port : CAL_VIEW_PORT, last = def->port > 0 ? first : first + CAL_VIEW_PORTS;
    for (int port = first; port <= last; port++)
        if (listen_on(server, &info, port)) {
            *out = server;
            return CAL_OK;
        }
    cal_server_destroy(server);
    if (def->port > 0)
        return cal_fail(error, CAL_BAD_ARGUMENT,
                        "cannot listen at %s, port %d: it is taken, or not this machine's to use; give another --port",
                        def->listen, def->port);
    return cal_fail(error, CAL_BAD_ARGUMENT,
                    "cannot listen at %s: no port from %d to %d is free, or it is not an "
                    "address of this machine",
                    def->listen, first, last);
}

void cal_server_destroy(cal_server* server) {
    if (!server) return;
    lws_context_destroy(server->context);
    cal_free(server);
}

int cal_server_port(const cal_server* server) { return server->port; }

int cal_server_chosen(const cal_server* server, const char** file) {
    *file = server->chosen_file;
    return server->chosen;
}

void cal_server_run(cal_server* server, cal_runner* runner) {
    server->runner = runner;
    while (!atomic_load(&server->stop))
        if (lws_service(server->context, 0) < 0) break;
}

void cal_server_poll(cal_server* server, cal_runner* runner) {
    // One round hears that there is news and asks who can take it, the next ones send it. A negative time does not wait.
    enum { ROUNDS = 4 };
    server->runner = runner;
    for (int i = 0; i < ROUNDS; i++)
        if (lws_service(server->context, -1) < 0) break;
}

void cal_server_stop(cal_server* server) {
    atomic_store(&server->stop, true);
    lws_cancel_service(server->context);
}

void cal_server_wake(void* server) { lws_cancel_service(((cal_server*)server)->context); }
