// Floor: spawns N stdio servers, asks each for its tools, and says how long it took until all had answered.
//
//   connect N command [args...]      prints {"wall_s": ..., "cpu_s": ...}
//
// posix_spawn, pipes and poll, no JSON library: an answer is a line which carries our id. A client must have
// the answer to `initialize` before it may send `notifications/initialized`, so there are two steps per server,
// as in any client that obeys the protocol. The killing at the end is not timed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static const char HELLO[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"floor\",\"version\":\"0\"}}}\n";
static const char LIST[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}\n";

struct server {
    pid_t pid;
    int in, out, step;
    char *bytes;
    size_t length, capacity;
};

static struct server *servers;
static int count;

static void end_all(void) {
    for (int i = 0; i < count; i++)
        if (servers[i].pid > 0) {
            kill(servers[i].pid, SIGKILL);
            waitpid(servers[i].pid, NULL, 0);
        }
}

static void fail(const char *what) {
    perror(what);
    if (servers) end_all();
    exit(1);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say(int fd, const char *text, size_t length) {
    if (write(fd, text, length) != (ssize_t)length) fail("write");
}

static void start(struct server *s, char **command) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) fail("pipe2");
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    errno = posix_spawnp(&s->pid, command[0], &files, NULL, command, environ);
    if (errno) fail(command[0]);
    posix_spawn_file_actions_destroy(&files);
    close(in[0]);
    close(out[1]);
    s->in = in[1];
    s->out = out[0];
    s->capacity = 1 << 14;
    s->bytes = malloc(s->capacity);
    if (!s->bytes) fail("malloc");
    say(s->in, HELLO, sizeof HELLO - 1);
}

// Reads what there is; true once the list has come.
static int advance(struct server *s) {
    if (s->length == s->capacity) {
        s->bytes = realloc(s->bytes, s->capacity *= 2);
        if (!s->bytes) fail("realloc");
    }
    ssize_t got = read(s->out, s->bytes + s->length, s->capacity - s->length);
    if (got <= 0) fail("a server ended before it answered: read");
    s->length += (size_t)got;
    char *end;
    while ((end = memchr(s->bytes, '\n', s->length))) {
        size_t line = (size_t)(end - s->bytes) + 1;
        const char *id = s->step == 0 ? "\"id\":1" : "\"id\":2";
        int ours = memmem(s->bytes, line, id, strlen(id)) != NULL;
        memmove(s->bytes, s->bytes + line, s->length -= line);
        if (ours && s->step++ == 0) say(s->in, LIST, sizeof LIST - 1);
        if (s->step == 2) return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    count = argc > 2 ? atoi(argv[1]) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: connect N command [args...]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    servers = calloc((size_t)count, sizeof *servers);
    struct pollfd *polled = calloc((size_t)count, sizeof *polled);
    if (!servers || !polled) fail("calloc");

    double begin = now();
    for (int i = 0; i < count; i++) {
        start(&servers[i], argv + 2);
        polled[i] = (struct pollfd){.fd = servers[i].out, .events = POLLIN};
    }
    for (int open = count; open > 0;) {
        if (poll(polled, (nfds_t)count, -1) < 0) fail("poll");
        for (int i = 0; i < count; i++)
            if (polled[i].revents && advance(&servers[i])) {
                polled[i].fd = -1;
                open--;
            }
    }
    double wall = now() - begin;

    struct rusage self;
    getrusage(RUSAGE_SELF, &self);
    double cpu = (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec) +
                 (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec) / 1e6;
    end_all();
    printf("{\"wall_s\": %.6f, \"cpu_s\": %.6f}\n", wall, cpu);
    return 0;
}
