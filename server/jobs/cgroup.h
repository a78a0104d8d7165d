/* cgroup.h - a control group of its own for the trainers, where systemd delegates one. */
#pragma once

/* Divides the daemon's own group if systemd delegates it, and logs whether. Returns the descriptor
 * of cgroup.procs of the trainers; -1: none. Before other threads start processes. */
int sv_cgroup_open(int weight);
/* Moves the daemon into the group `serve` below this one, and makes the group `train` with this
 * cpu.weight. -1: see errno. */
int sv_cgroup_divide(const char *group, int weight);
