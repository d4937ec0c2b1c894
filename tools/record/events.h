/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight events` lists what -e takes. */
#pragma once

#include "tools/command.h"

extern const struct command events_command;
