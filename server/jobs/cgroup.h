/* cgroup.h - a control group of its own for the trainers, where systemd delegates one. */
#pragma once

/* Moves the daemon into the group `serve` below its own, and makes the group `train` with this
 * cpu.weight. Returns the descriptor of its cgroup.procs; -1: nothing is delegated, which is
 * logged. Before other threads start processes. */
int sv_cgroup_open(int weight);
