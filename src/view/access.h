// Who may talk to the viewer. A page of another site can make a browser connect to this machine; it gives itself away by
// its Origin, and by a Host that is a name somebody made resolve to here.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// Whether a Host header names this server: localhost or a loopback address when it listens there; otherwise also any
// numeric address, this machine's own name, or `listen` itself. port is the server's.
bool cal_access_host(const char* host, const char* listen, const char* machine, int port);
// Whether an Origin header is of a page that came from that host.
bool cal_access_origin(const char* origin, const char* host);
// Whether an address to listen on is this machine only.
bool cal_access_is_loopback(const char* address);
