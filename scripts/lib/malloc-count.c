// Counts what a program allocates, in a file that another process reads while it runs.
//
// Preloaded by scripts/measure. MALLOC_COUNT_FILE holds 64-bit numbers in the machine's order: calls of malloc, calloc,
// realloc and their kin, calls of free, bytes alive, then for each size class of 16 bytes, up to 8 KiB, blocks alive.
// Only the program named by MALLOC_COUNT_PROGRAM is counted, since its children inherit the preload.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { classes = 512 };

struct counts {
    _Atomic long allocations, frees, bytes, blocks[classes];
};

static struct counts nowhere;
static struct counts *counts = &nowhere;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MALLOC_COUNT_FILE"), *program = getenv("MALLOC_COUNT_PROGRAM");
    if (!path || !program || strcmp(program, program_invocation_short_name)) return;
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0 || ftruncate(descriptor, sizeof nowhere)) abort();
    void *page = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page == MAP_FAILED) abort();
    close(descriptor);
    counts = page;
}

static void note(void *block, long sign) {
    if (!block) return;
    size_t size = malloc_usable_size(block), class = size / 16;
    counts->bytes += sign * (long)size;
    counts->blocks[class < classes ? class : classes - 1] += sign;
    if (sign > 0) counts->allocations++;
    else counts->frees++;
}

void *malloc(size_t size) {
    void *block = __libc_malloc(size);
    note(block, 1);
    return block;
}

void *calloc(size_t count, size_t size) {
    void *block = __libc_calloc(count, size);
    note(block, 1);
    return block;
}

void *realloc(void *old, size_t size) {
    note(old, -1);
    void *block = __libc_realloc(old, size);
    if (block || size == 0) note(block, 1);
    else note(old, 1);
    return block;
}

void *memalign(size_t alignment, size_t size) {
    void *block = __libc_memalign(alignment, size);
    note(block, 1);
    return block;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    *block = memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

void free(void *block) {
    note(block, -1);
    __libc_free(block);
}
