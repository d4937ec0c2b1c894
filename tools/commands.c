/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/commands.h"

#include "tools/doctor/doctor.h"
#include "tools/fleet/fleet_commands.h"
#include "tools/history/heatmap_command.h"
#include "tools/history/history_commands.h"
#include "tools/history/incident_commands.h"
#include "tools/jit/jit_commands.h"
#include "tools/kmem/kmem_commands.h"
#include "tools/record/events.h"
#include "tools/record/record.h"
#include "tools/runtimes/runtimes_command.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/top/top_command.h"
#include "tools/ui/ui_command.h"

static const struct command *const symbols_commands[] = { &symbols_add, &symbols_list,
	&symbols_show, &symbols_lookup, &symbols_prune, &symbols_verify, &symbols_fetch, NULL };

static const struct command symbols_group = {
	.name = "symbols",
	.summary = "fill, read and check the symbol cache",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.description = "Functions, inlined calls and source lines of binaries by build-id, in a "
		       "folder that recordings take names from.",
	.notes = "Each takes --cache DIR, --json and --help. BUILD-ID is a whole build-id or at "
		 "least its first 4 digits, `htlhash:HEX` for a binary without one, or the path of "
		 "an ELF file.",
	.commands = symbols_commands,
};

static const struct command *const fleet_commands[] = { &fleet_flamegraph, &fleet_top,
	&fleet_report, &fleet_diff, &fleet_export, &fleet_symbolize, &fleet_init, NULL };

static const struct command fleet_group = {
	.name = "fleet",
	.summary = "show what many hosts have pushed to ClickHouse",
	.synopsis = "COMMAND [OPTION...]",
	.description = "What the hosts of a fleet have pushed to ClickHouse by a sink of the "
		       "type clickhouse, pilotlight.conf(5).",
	.notes = "Each takes --clickhouse URL, --user, --password-file and --help.",
	.commands = fleet_commands,
};

static const struct command *const jit_commands[] = { &jit_list, &jit_dump, &jit_symbols,
	&jit_verify, &jit_tail, NULL };

static const struct command jit_group = {
	.name = "jit",
	.summary = "read the files that name generated code",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.description = "Code that virtual machines generate while they run, and the files in which "
		       "they name it: jitdump files and perf maps.",
	.notes = "Each takes --json and --help. FILE is a jitdump file, jit-PID.dump, and for "
		 "`symbols` also a perf map, perf-PID.map.",
	.commands = jit_commands,
};

static const struct command *const kmem_commands[] = { &kmem_report, &kmem_trace, &kmem_read,
	NULL };

static const struct command kmem_group = {
	.name = "kmem",
	.summary = "trace kernel memory in the format of kmemtrace",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.description =
		"Allocations and frees of kernel memory as binary streams, one for each CPU, "
		"and reports of such streams.",
	.commands = kmem_commands,
};

static const struct command *const all_commands[] = { &record_command, &flamegraph_command,
	&report_command, &export_command, &diff_command, &top_command, &ui_command,
	&heatmap_command, &incidents_command, &incident_command, &events_command, &status_command,
	&doctor_command, &fleet_group, &symbols_group, &jit_group, &runtimes_command, &kmem_group,
	NULL };

const struct command pilotlight_command = {
	.name = "",
	.synopsis = "COMMAND [ARGUMENT...]",
	.description = "Profile this machine: where does the CPU time go?",
	.notes = "`pilotlight help COMMAND` explains a command; so does its manual page, see "
		 "pilotlight(1).",
	.commands = all_commands,
};
