/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A selection as a condition of SQL over the samples of a fleet
 * (pilotlight/clickhouse_schema.h). Rows count to the time in which they begin.
 */
#pragma once

#include "query/selection.h"

#include <stdio.h>

/* Writes a text as a literal of ClickHouse. */
void sql_write_text(FILE *file, const char *text);

/*
 * Writes "column = 'value'", or of a glob of fnmatch(3) an equal regular expression: those of
 * ClickHouse take linear time.
 */
void sql_write_match(FILE *file, const char *column, const char *value);

/* After selection_finish(): */

/*
 * Divides the time of a selection into what is before its first whole hour, its whole hours, and
 * what is behind them: servers may have sums of hours. Returns how many of these there are.
 */
struct sql_times {
	uint64_t start_s, end_s;
};
enum { SQL_TIMES_MAX = 3 };
size_t selection_sql_times(
	const struct selection *selection, struct sql_times ret_times[SQL_TIMES_MAX]);

/*
 * Writes the condition of a selection in one of its times. The file may fail (ferror()). Returns 0,
 * or -EINVAL with a fault if the selection is by something that a fleet does not have.
 */
int selection_write_sql(const struct selection *selection, const struct sql_times *times,
	FILE *file, struct fault *fault);

/* The event that is asked for; "cpu" without one. Borrowed. */
const char *selection_event(const struct selection *selection);

void selection_get_times(
	const struct selection *selection, uint64_t *ret_start_ns, uint64_t *ret_end_ns);
