/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight top`: what takes CPU time now, on a terminal. */
#pragma once

#include "tools/command.h"

extern const struct command top_command;
