/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight top`: shows on a terminal what takes CPU time now. */
#pragma once

#include "tools/command.h"

extern const struct command top_command;
