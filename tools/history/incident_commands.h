/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pilotlight incidents` lists incidents, `pilotlight incident TEXT` notes one. */
#pragma once

#include "tools/command.h"

extern const struct command incidents_command, incident_command;
