#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void enter(const char *group, int cpu) {
    char path[256];
    cpu_set_t set;
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    int file = open(path, O_WRONLY);
    if (file < 0 || write(file, "0", 1) != 1) _exit(1);
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void pass(const char *group, int cpu, int from, int to, double end) {
    char byte = 0;
    if (fork()) return;
    alarm(2); /* a process left without a partner */
    enter(group, cpu);
    while (now(CLOCK_MONOTONIC) < end && read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1);
    _exit(0);
}

int main(int count, char **groups) { /* groups: the victim's, then one for each pair */
    double begin = now(CLOCK_MONOTONIC) + 0.1, end = begin + 1;
    for (int pair = 0; pair < count - 2; pair++) {
        int there[2], back[2];
        if (pipe(there) || pipe(back) || write(back[1], "", 1) != 1) return 1;
        pass(groups[pair + 2], pair, back[0], there[1], end);
        pass(groups[pair + 2], pair, there[0], back[1], end);
        close(there[0]), close(there[1]), close(back[0]), close(back[1]);
    }
    if (!fork()) {
        enter(groups[1], 0);
        double last = begin, longest = 0, used = now(CLOCK_PROCESS_CPUTIME_ID);
        while (last < end) {
            double at = now(CLOCK_MONOTONIC);
            if (at - last > longest) longest = at - last;
            last = at;
        }
        used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
        printf("longest wait %.0f ms, %.0f ms of CPU\n", longest * 1e3, used * 1e3);
        return 0;
    }
    while (wait(NULL) > 0);
}
