/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pilotlight doctor`: what this machine offers a profiler, what it lacks, and how to get that.
 * Changes nothing on the machine and needs no privilege.
 */
#pragma once

#include "tools/command.h"

extern const struct command doctor_command;
