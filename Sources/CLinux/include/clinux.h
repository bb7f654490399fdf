/*
 * What Swift's Glibc module does not show: epoll, eventfd, accept4, thread identity.
 * Flags are exported as constants of the type their call takes, since macros and enums arrive in Swift with
 * types of the importer's choosing. _GNU_SOURCE is defined in clinux.c alone: defined here, fd_set would differ
 * from Glibc's own.
 */
#ifndef SALLYPORT_CLINUX_H
#define SALLYPORT_CLINUX_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static const uint32_t CL_IN = EPOLLIN;
static const uint32_t CL_OUT = EPOLLOUT;
static const uint32_t CL_RDHUP = EPOLLRDHUP;
static const uint32_t CL_HUP = EPOLLHUP;
static const uint32_t CL_ERR = EPOLLERR;
static const uint32_t CL_ET = EPOLLET;
static const int32_t CL_STREAM = SOCK_STREAM;
static const int32_t CL_NOSIGNAL = MSG_NOSIGNAL;

int cl_epoll_create(void);
/* op: 1 add, 2 delete, 3 modify. Returns 0 or -1 with errno. */
int cl_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t data);
int cl_epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms);
int cl_eventfd(void);
/* Non-blocking, close-on-exec. */
int cl_accept(int listener, struct sockaddr_storage *address, socklen_t *length);
int cl_stream_socket(int family);

/* The event loop that the calling thread runs, or NULL. A plain field would be a data race. */
void cl_set_current_loop(void *loop);
void *cl_current_loop(void);

/* Resource use of the process: user and system CPU time in microseconds, peak resident set in KiB. */
void cl_usage(int64_t *user_us, int64_t *system_us, int64_t *peak_rss_kib);

#endif
