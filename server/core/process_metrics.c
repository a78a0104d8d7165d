/* process_metrics.c - what the kernel knows of the process. */
#include "base/cpu.h"
#include "core/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Linux 6.2 and later say it in the size of the directory. Before, it takes a millisecond to count
 * a thousand. */
static int64_t count_fds(void)
{
    struct stat found;
    int64_t count = -3; /* ".", "..", and the directory itself */
    if (stat("/proc/self/fd", &found) == 0 && found.st_size > 0)
        return found.st_size;
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return 0;
    while (readdir(directory)) // NOLINT(concurrency-mt-unsafe): this stream is ours alone
        count++;
    (void)closedir(directory);
    return count;
}

static void sample_memory(struct sv_metrics *metrics)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128] = "";
    if (!file)
        return;
    if (fgets(line, sizeof line, file)) {
        char *rest;
        double page = (double)sysconf(_SC_PAGESIZE);
        sv_metrics_set(metrics, SV_METRIC_VIRTUAL_BYTES, NULL,
                       page * (double)strtoull(line, &rest, 10));
        sv_metrics_set(metrics, SV_METRIC_RESIDENT_BYTES, NULL,
                       page * (double)strtoull(rest, NULL, 10));
    }
    (void)fclose(file);
}

void sv_metrics_sample_process(struct sv_metrics *metrics)
{
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        sv_metrics_set(metrics, SV_METRIC_CPU_SECONDS, NULL,
                       (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec);
    struct rlimit fds;
    if (getrlimit(RLIMIT_NOFILE, &fds) == 0)
        sv_metrics_set(metrics, SV_METRIC_MAX_FDS, NULL, (double)fds.rlim_cur);
    sv_metrics_set(metrics, SV_METRIC_THROTTLED_SECONDS, NULL, sl_cpu_throttled_seconds());
    sv_metrics_set(metrics, SV_METRIC_OPEN_FDS, NULL, (double)count_fds());
    sample_memory(metrics);
}
