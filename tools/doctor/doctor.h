/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight doctor`: what this machine offers a profiler, what it lacks, and how to get it. */
#pragma once

/*
 * Returns the exit status: 0 when `pilotlight record` can work here, 1 when it cannot, 2 for a
 * usage error. Changes nothing on the machine and needs no privilege to run.
 */
int doctor_main(int argc, char **argv);
