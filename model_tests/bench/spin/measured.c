/* Runs a command and writes its seconds, its peak memory in bytes and its exit code into a file: measured FILE COMMAND ...
 *
 * The peak memory of a process counts what its parent had when it was started, so the parent must be as small as this.
 */

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#define BYTES_PER_UNIT 1
#else
#define BYTES_PER_UNIT 1024
#endif

int main(int count, char **arguments) {
    struct timespec start, end;
    struct rusage usage;
    int status;
    if (count < 3) return 2;
    FILE *report = fopen(arguments[1], "w");
    if (!report) return 2;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
        execvp(arguments[2], arguments + 2);
        _exit(127);
    }
    if (wait4(child, &status, 0, &usage) < 0) return 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    fprintf(report, "%.6f %lld %d\n", seconds, (long long)usage.ru_maxrss * BYTES_PER_UNIT, code);
    return fclose(report) ? 2 : 0;
}
