/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands that print what pilotlightd answers: a profile from its history as a flame graph, a
 * table or a file for other programs, the difference of two, and the state of the service.
 */
#pragma once

#include "tools/command.h"

extern const struct command flamegraph_command, report_command, export_command, diff_command,
	status_command;
