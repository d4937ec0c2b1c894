/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor's findings, for people and for programs. */
#pragma once

#include "tools/doctor/doctor_check.h"

struct doctor_entry {
	const struct doctor_group *group;
	const struct doctor_check *check;
	struct doctor_finding finding;
};

/* Entries in the order of their groups; owned by whoever made it. */
struct doctor_report {
	struct doctor_entry *entries;
	size_t count;
};

/* Can `pilotlight record` work? */
bool doctor_report_is_ready(const struct doctor_report *report);

/* Both write to standard output and return 0 or -errno. */
int doctor_report_print(const struct doctor_report *report);
int doctor_report_print_json(const struct doctor_report *report);
