/* Python's memory of small objects, kept for those that come next.

Python gives an arena (1 MiB) back to the system as soon as nothing is in it. A program that makes 600,000 strings each
step and drops them has each page mapped, cleared and unmapped each time: 40 % of the time of splitting lines. From the
first large array of strings on, up to 64 MiB of empty arenas wait for the next objects. */
#ifndef FG_ARENAS_H
#define FG_ARENAS_H
#include <Python.h>
#include <stdatomic.h>

enum { FG_ARENAS = 64 };
static PyObjectArenaAllocator fg_system;
static struct { void* at; size_t size; } fg_empty[FG_ARENAS];
static int fg_n_empty;
/* Allocators are called with the lock of an interpreter, and interpreters may have one each: who comes second goes to the system. */
static atomic_flag fg_busy = ATOMIC_FLAG_INIT;

static void* fg_take_arena(void* context, size_t size) {
    void* found = NULL;
    if (!atomic_flag_test_and_set(&fg_busy)) {
        if (fg_n_empty && fg_empty[fg_n_empty - 1].size == size) found = fg_empty[--fg_n_empty].at;
        atomic_flag_clear(&fg_busy);
    }
    return found ? found : fg_system.alloc(fg_system.ctx, size);
}

static void fg_leave_arena(void* context, void* at, size_t size) {
    if (!atomic_flag_test_and_set(&fg_busy)) {
        int kept = size <= (1 << 20) && fg_n_empty < FG_ARENAS;
        if (kept) { fg_empty[fg_n_empty].at = at; fg_empty[fg_n_empty++].size = size; }
        atomic_flag_clear(&fg_busy);
        if (kept) return;
    }
    fg_system.free(fg_system.ctx, at, size);
}

/* Once for the process. What another library has put in the place of Python's own stays below ours. */
static void fg_keep_arenas(void) {
    static int kept;
    if (kept) return;
    kept = 1;
    PyObject_GetArenaAllocator(&fg_system);
    PyObjectArenaAllocator ours = {NULL, fg_take_arena, fg_leave_arena};
    PyObject_SetArenaAllocator(&ours);
}
#endif
