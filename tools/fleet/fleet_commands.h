/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of `pilotlight fleet`, which show what a fleet of hosts has pushed to ClickHouse,
 * and make the tables for it.
 */
#pragma once

#include "tools/command.h"

extern const struct command fleet_flamegraph, fleet_report, fleet_top, fleet_export, fleet_diff,
	fleet_symbolize, fleet_init;
