// Who may talk to the viewer.
#define _DEFAULT_SOURCE // getentropy
#include "view/access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LONGEST = 256 };

static bool is_address(const char* text) {
    unsigned char bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

bool cal_access_is_loopback(const char* address) {
    return strcasecmp(address, "localhost") == 0 || strcmp(address, "::1") == 0 ||
           (strncmp(address, "127.", 4) == 0 && is_address(address));
}

// Splits "name:port", "[address]:port", or either without a port, which is 80 then.
static bool split(const char* host, char name[LONGEST], int* port) {
    if (strlen(host) >= LONGEST) return false;
    const bool bracketed = host[0] == '[';
    const char* end = bracketed ? strchr(host, ']') : host + strcspn(host, ":");
    if (!end) return false;
    const char* start = host + bracketed;
    memcpy(name, start, (size_t)(end - start));
    name[end - start] = '\0';
    end += bracketed;
    *port = 80;
    if (*end == '\0') return name[0] != '\0';
    char rest;
    return *end == ':' && strlen(end) <= 6 && strspn(end + 1, "0123456789") == strlen(end + 1) &&
           sscanf(end + 1, "%d%c", port, &rest) == 1 && name[0] != '\0';
}

bool cal_access_host(const char* host, const char* listen, const char* machine, int port) {
    char name[LONGEST];
    int named_port;
    if (!host || !split(host, name, &named_port) || named_port != port) return false;
    if (cal_access_is_loopback(name)) return true;
    if (cal_access_is_loopback(listen)) return false;
    const size_t length = strlen(machine);
    const bool own = length > 0 && strncasecmp(name, machine, length) == 0 &&
                     (name[length] == '\0' || strcasecmp(name + length, ".local") == 0);
    return own || is_address(name) || strcasecmp(name, listen) == 0;
}

bool cal_access_origin(const char* origin, const char* host) {
    static const char scheme[] = "http://";
    return origin && host && strncmp(origin, scheme, strlen(scheme)) == 0 &&
           strcasecmp(origin + strlen(scheme), host) == 0;
}

bool cal_access_make_token(char token[CAL_TOKEN_MOST + 1]) {
    unsigned char bytes[CAL_TOKEN_BITS / 8];
    if (getentropy(bytes, sizeof bytes) != 0) return false;
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

bool cal_access_token_is_good(const char* token) {
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    const size_t length = strlen(token);
    return length >= CAL_TOKEN_LEAST && length <= CAL_TOKEN_MOST && strspn(token, allowed) == length;
}

bool cal_access_token(const char* shown, const char* token) {
    const size_t length = strlen(shown);
    unsigned different = length != strlen(token);
    for (size_t i = 0; token[i]; i++) different |= (unsigned char)(token[i] ^ (i < length ? shown[i] : 0));
    return different == 0;
}
