/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_query.h"

#include "base/clock.h"
#include "base/event_source.h"
#include "pilotlight/clickhouse_schema.h"
#include "query/selection_sql.h"
#include "tools/fleet/fleet_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE(name) PILOTLIGHT_CLICKHOUSE_DATABASE "." name

void fleet_selection_done(struct fleet_selection *selection)
{
	selection_free(selection->selection);
	free(selection->hosts);
	free(selection->services);
	*selection = (struct fleet_selection){ 0 };
}

/* --- SQL --- */

static void write_any_of(FILE *file, const char *column, const char **values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)fputs(i == 0 ? " AND (" : " OR ", file);
		sql_write_match(file, column, values[i]);
	}
	if (count > 0)
		(void)fputc(')', file);
}

static int write_condition(const struct fleet_selection *selection, const struct sql_times *times,
	FILE *file, struct fault *fault)
{
	int r = selection_write_sql(selection->selection, times, file, fault);

	write_any_of(file, "service", selection->services, selection->service_count);
	write_any_of(file, "host", selection->hosts, selection->host_count);
	return r;
}

/* A question about samples, with `what` and `by` for each of its times, and the union of these
 * between the other two. */
struct question {
	const char *before, *what, *by, *behind;
};

static int write_question(const struct fleet_selection *selection, const struct question *question,
	FILE *file, struct fault *fault)
{
	const bool has_spans = selection_has_spans(selection->selection);
	struct sql_times times[SQL_TIMES_MAX];
	const size_t count = selection_sql_times(selection->selection, times);
	int r = 0;

	(void)fputs(question->before, file);
	for (size_t i = 0; r == 0 && i < count; i++) {
		(void)fprintf(file, "%sSELECT %s FROM %s WHERE ", i > 0 ? " UNION ALL " : "",
			question->what,
			has_spans ? "(SELECT DISTINCT * FROM " TABLE("spans") : TABLE("samples"));
		r = write_condition(selection, &times[i], file, fault);
		(void)fprintf(file, "%s GROUP BY %s", has_spans ? ")" : "", question->by);
	}
	(void)fprintf(file, "%s FORMAT RowBinary", question->behind);
	return r;
}

/* The caller frees the text. */
static int make_sql(const struct fleet_selection *selection, const struct question *question,
	char **ret_sql, struct fault *fault)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	bool has_failed;
	int r;

	if (!file)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = write_question(selection, question, file, fault);
	has_failed = ferror(file);
	if (fclose(file) != 0 || has_failed)
		return fault_set(fault, -ENOMEM, "out of memory");
	if (r == 0)
		*ret_sql = TAKE_PTR(text);
	return r;
}

static int ask_selected(struct clickhouse_client *client, const struct fleet_selection *selection,
	const struct question *question, struct clickhouse_answer *ret_answer, struct fault *fault)
{
	_cleanup_free_ char *sql = NULL;
	int r = make_sql(selection, question, &sql, fault);

	return r < 0 ? r : clickhouse_client_query(client, sql, NULL, ret_answer, fault);
}

/* --- hosts --- */

/*
 * Hosts are drawn anew in each epoch, so each epoch of a host is a draw. A host whose share was
 * changed has several weights.
 */
static int ask_estimate(struct clickhouse_client *client, const struct fleet_selection *selection,
	struct fleet_found *found, struct fault *fault)
{
	_cleanup_(clickhouse_answer_done) struct clickhouse_answer answer = { 0 };
	char what[128];
	const struct question question = {
		.before = "SELECT weight, sum(amount), sum(amount * amount) FROM (",
		.what = what,
		.by = "host, weight, epoch",
		.behind = ") GROUP BY weight",
	};
	struct row_reader reader;
	int r;

	/* No epoch is in two hours. */
	(void)snprintf(what, sizeof(what),
		"host, weight, intDiv(toUInt32(ts), %llu) AS epoch, "
		"sum(toFloat64(value) * period) AS amount",
		HOST_SAMPLE_EPOCH_NS / NSEC_PER_SEC);
	r = ask_selected(client, selection, &question, &answer, fault);
	if (r < 0)
		return r;
	reader = fleet_rows_reader(&answer);
	while (row_reader_has_more(&reader)) {
		const double weight = row_f64(&reader);
		const double sum = row_f64(&reader), sum_of_squares = row_f64(&reader);

		if (weight > 0)
			host_estimate_add(&found->estimate, sum, sum_of_squares, weight);
	}
	return reader.is_broken ? -EBADMSG : 0;
}

static int ask_hosts(struct clickhouse_client *client, const struct fleet_selection *selection,
	struct fleet_found *found, struct fault *fault)
{
	_cleanup_(clickhouse_answer_done) struct clickhouse_answer answer = { 0 };
	static const struct question question = {
		.before = "SELECT uniqExact(host), max(of_host) FROM (",
		.what = "host, max(weight) AS of_host",
		.by = "host",
		.behind = ")",
	};
	struct row_reader reader;
	double weight;
	int r = ask_selected(client, selection, &question, &answer, fault);

	if (r < 0)
		return r;
	reader = fleet_rows_reader(&answer);
	if (!row_reader_has_more(&reader))
		return 0;
	found->hosts = row_u64(&reader);
	weight = row_f64(&reader);
	if (reader.is_broken)
		return -EBADMSG;
	/* All hosts push: there is no error to estimate. */
	return weight > 1 ? ask_estimate(client, selection, found, fault) : 0;
}

/* --- the profile --- */

static int ask_about(struct clickhouse_client *client, const char *sql, const char *columns,
	int (*read)(const struct fleet_rows *rows, struct clickhouse_answer *ret_table),
	const struct fleet_rows *rows, struct clickhouse_answer *ret_answer, struct fault *fault)
{
	_cleanup_(clickhouse_answer_done) struct clickhouse_answer asked = { 0 };
	struct clickhouse_table table = { .name = "asked", .columns = columns };
	int r = read(rows, &asked);

	if (r < 0)
		return r;
	table.rows = asked.bytes;
	table.bytes = asked.size;
	return asked.size == 0 ? 0
			       : clickhouse_client_query(client, sql, &table, ret_answer, fault);
}

static int ask_rows(struct clickhouse_client *client, const struct fleet_selection *selection,
	struct fleet_rows *rows, struct fault *fault)
{
	static const struct question question = {
		.before = "",
		.what = "stack, comm, period, weight, sum(value)",
		.by = "stack, comm, period, weight",
		.behind = "",
	};
	int r = ask_selected(client, selection, &question, &rows->samples, fault);

	if (r == 0)
		r = ask_about(client,
			"SELECT id, any(locations) FROM " TABLE(
				"stacks") " WHERE id IN asked GROUP BY id FORMAT RowBinary",
			"id UInt64", fleet_rows_stack_ids, rows, &rows->stacks, fault);
	if (r == 0)
		r = ask_about(client,
			"SELECT id, any(build_id), any(vaddr), any(kind), any(path) FROM " TABLE(
				"locations") " WHERE id IN asked GROUP BY id FORMAT RowBinary",
			"id UInt64", fleet_rows_location_ids, rows, &rows->locations, fault);
	if (r == 0)
		r = ask_about(client,
			"SELECT build_id, vaddr, argMax((functions, files, lines), rank) "
			"FROM " TABLE("names") " WHERE (build_id, vaddr) IN asked "
					       "GROUP BY build_id, vaddr FORMAT RowBinary",
			"build_id String, vaddr UInt64", fleet_rows_code, rows, &rows->names,
			fault);
	return r;
}

static int describe(const struct fleet_selection *selection, struct profile *profile)
{
	const char *event = selection_event(selection->selection);

	selection_get_times(selection->selection, &profile->start_ns, &profile->end_ns);
	return profile_add_string(profile, event, &profile->event);
}

static int make_profile(const struct fleet_selection *selection, const struct fleet_rows *rows,
	size_t limit_bytes, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r = profile_new(limit_bytes, &profile);

	if (r == 0)
		r = describe(selection, profile);
	if (r == 0)
		r = fleet_profile_fill(rows, profile);
	if (r == 0)
		*ret_profile = TAKE_PTR(profile);
	return r;
}

static int explain(int error, struct fault *fault)
{
	switch (error) {
	case -EBADMSG:
		return fault_set(fault, error,
			"the answer of ClickHouse is not of pilotlight's tables; is the URL "
			"right?");
	case -E2BIG:
		return fault_set(fault, error,
			"the profile of the fleet does not fit into memory; select less time, or "
			"fewer hosts");
	case -ENOMEM:
		return fault_set(fault, error, "out of memory");
	default:
		return error;
	}
}

static int refuse_live(const struct fleet_selection *selection, struct fault *fault)
{
	const char *event = selection_event(selection->selection);

	if (!event_source_of(event)->is_live)
		return 0;
	return fault_set(fault, -EINVAL,
		"%s is what lives at a moment, which adds up over no time; ask each host", event);
}

int fleet_query_profile(struct clickhouse_client *client, const struct fleet_selection *selection,
	size_t limit_bytes, struct profile **ret_profile, struct fleet_found *ret_found,
	struct fault *fault)
{
	_cleanup_(fleet_rows_done) struct fleet_rows rows = { 0 };
	struct fleet_found found = { 0 };
	int r = refuse_live(selection, fault);

	if (r == 0)
		r = ask_hosts(client, selection, &found, fault);
	if (r == 0 && found.hosts == 0)
		return fault_set(fault, -ENOENT,
			"no host of the fleet has samples of: %s; select more time, or other names",
			selection_text(selection->selection));
	if (r == 0)
		r = ask_rows(client, selection, &rows, fault);
	if (r == 0)
		r = make_profile(selection, &rows, limit_bytes, ret_profile);
	if (r < 0)
		return explain(r, fault);
	*ret_found = found;
	return 0;
}
