/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All commands of the program: the group that is pilotlight itself. */
#pragma once

#include "tools/command.h"

extern const struct command pilotlight_command;
