// Who may talk to the viewer. A page of another site can make a browser connect to this machine; it gives itself away by
// its Origin, and by a Host that is a name somebody made resolve to here. Other users of this machine, and with another address
// to listen at everybody, can send any header they like: whoever changes something shows a token, which only the printed address has.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { CAL_TOKEN_LEAST = 16, CAL_TOKEN_MOST = 64, CAL_TOKEN_BITS = 128 };

// Whether a Host header names this server: localhost or a loopback address when it listens there; otherwise also any
// numeric address, this machine's own name, or `listen` itself. port is the server's.
bool cal_access_host(const char* host, const char* listen, const char* machine, int port);
// Whether an Origin header is of a page that came from that host.
bool cal_access_origin(const char* origin, const char* host);
// A token of CAL_TOKEN_BITS random bits in hexadecimal; false when this machine has none to give.
bool cal_access_make_token(char token[CAL_TOKEN_MOST + 1]);
// Whether a token can stand in an address, and is too long to be guessed.
bool cal_access_token_is_good(const char* token);
// Whether what somebody shows is the token. The time that this takes says nothing about where they differ.
bool cal_access_token(const char* shown, const char* token);
// Whether an address to listen on is this machine only.
bool cal_access_is_loopback(const char* address);
