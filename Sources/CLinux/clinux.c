#define _GNU_SOURCE
#include "clinux.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

int cl_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int cl_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

int cl_epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms) {
    return epoll_wait(epoll, events, count, timeout_ms);
}

int cl_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int cl_accept(int listener, struct sockaddr_storage *address, socklen_t *length) {
    return accept4(listener, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int cl_stream_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

static _Thread_local void *current_loop;

void cl_set_current_loop(void *loop) { current_loop = loop; }

void *cl_current_loop(void) { return current_loop; }

void cl_usage(int64_t *user_us, int64_t *system_us, int64_t *peak_rss_kib) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *user_us = (int64_t)usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec;
    *system_us = (int64_t)usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
    *peak_rss_kib = usage.ru_maxrss;
}
