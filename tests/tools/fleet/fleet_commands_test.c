/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of a fleet, answered by a stand-in for ClickHouse. */
#include "tools/fleet/fleet_commands.h"

#include "tests/client/clickhouse_stand_in.h"
#include "tests/tools/command_run.h"
#include "tests/tools/fleet/fleet_fixture.h"

#include <sys/stat.h>

static struct stand_in stand_in;
static struct fleet_rows rows;

static struct stand_in_answer of(const struct clickhouse_answer *answer)
{
	return (struct stand_in_answer){ "200 OK", answer->bytes, answer->size };
}

static void put_amounts(struct clickhouse_answer *amounts, double weight)
{
	put_f64(amounts, weight);
	put_f64(amounts, 100);
	put_f64(amounts, 100);
}

/* Two hosts without a draw, 100 of 1000, or one in both ways and one without a draw. */
static struct stand_in_answer answer_hosts(const char *request)
{
	static struct clickhouse_answer hosts;
	const bool is_none = strstr(request, "service = 'none'");
	const bool is_drawn = strstr(request, "service = 'drawn'");
	const bool is_both = strstr(request, "service = 'both'");

	clickhouse_answer_done(&hosts);
	put_u64(&hosts, is_none ? 0 : is_drawn ? 100 : 2);
	put_f64(&hosts, is_none ? 0 : is_drawn || is_both ? 10 : 1);
	return of(&hosts);
}

/* Asked only if hosts were drawn. */
static struct stand_in_answer answer_amounts(const char *request)
{
	static struct clickhouse_answer amounts;

	clickhouse_answer_done(&amounts);
	if (!strstr(request, "service = 'drawn'") && !strstr(request, "service = 'both'"))
		return (struct stand_in_answer){ "500 X", "", 0 };
	put_amounts(&amounts, 10);
	if (strstr(request, "service = 'both'"))
		put_amounts(&amounts, 1);
	return of(&amounts);
}

/* A million locations, then one behind the last of them. */
static struct stand_in_answer answer_nameless(const char *request)
{
	static struct clickhouse_answer nameless;
	const bool is_first = strstr(request, "build_id > ''");

	clickhouse_answer_done(&nameless);
	if (!is_first && !strstr(request, "build_id = 'f00d' AND vaddr > 999999)"))
		return (struct stand_in_answer){ "500 X", "", 0 };
	for (uint64_t i = 0; i < (is_first ? 1000000 : 1); i++) {
		put_text(&nameless, is_first ? "f00d" : "f00e");
		put_u64(&nameless, i);
		put(&nameless, (uint16_t[]){ 20000 }, 2);
	}
	return of(&nameless);
}

static struct stand_in_answer answer(const char *request, size_t size)
{
	if (strstr(request, "max(day)"))
		return answer_nameless(request);
	if (strstr(request, "uniqExact(host)"))
		return answer_hosts(request);
	if (strstr(request, "sum(amount)"))
		return answer_amounts(request);
	if (strstr(request, "pilotlight.stacks"))
		return of(&rows.stacks);
	if (strstr(request, "pilotlight.locations"))
		return of(&rows.locations);
	if (strstr(request, "pilotlight.names"))
		return of(&rows.names);
	if (strstr(request, "service = 'hostile'"))
		return (struct stand_in_answer){ "200 OK", "Code: 1, what?", 14 };
	return of(&rows.samples);
}

static int set_up(void **state)
{
	fleet_put_all(&rows);
	stand_in_start(&stand_in, answer);
	return 0;
}

static int tear_down(void **state)
{
	stand_in_stop(&stand_in);
	fleet_rows_done(&rows);
	return 0;
}

static int run(const struct command *command, const char *options)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "--clickhouse %s %s", stand_in.url, options);
	return command_run(command, line);
}

static void a_fleet_is_exported(void **state)
{
	assert_int_equal(run(&fleet_export, "-f folded -o - --service web"), 0);
	assert_string_equal(ran.out,
		"[lost: ring full] 3\n"
		"job;main;inner_[i];[web+0x2000];\xef\xbf\xbd[31mlambda_[j] 5\n"
		"web;main;inner_[i];[web+0x2000] 40\n"
		"web;main;inner_[i];[web+0x2000];\xef\xbf\xbd[31mlambda_[j] 2\n");
	assert_string_equal(ran.err, "");
}

static void a_fleet_is_listed(void **state)
{
	assert_int_equal(run(&fleet_report, "--host web-* --last 1h"), 0);
	assert_int_equal(strncmp(ran.out, "# 2 hosts, host web-*: ", 23), 0);
	assert_non_null(strstr(ran.out, "lambda"));
	assert_int_equal(run(&fleet_top, "-q"), 0);
	assert_non_null(strstr(ran.out, "lambda"));
}

/* A hundred hosts of equal amounts: 1.96 * sqrt(100 * 0.9 * 100) / (10 * 100). */
static void the_error_of_drawn_hosts_is_told(void **state)
{
	assert_int_equal(run(&fleet_report, "--service drawn"), 0);
	if (!strstr(ran.out, "# 100 hosts of a larger fleet, estimated to ±19 % (at 95 %), "
			     "service drawn: "))
		fail_msg("%s", ran.out);
}

static void a_host_of_two_weights_is_one(void **state)
{
	assert_int_equal(run(&fleet_report, "--service both"), 0);
	if (!strstr(ran.out, "# 2 hosts of a larger fleet, estimated"))
		fail_msg("%s", ran.out);
}

static void a_flame_graph_is_drawn(void **state)
{
	char folder[] = "/tmp/fleet-XXXXXX", line[128], path[64];
	struct stat status;

	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/f.svg", folder);
	(void)snprintf(line, sizeof(line), "-o %s", path);
	assert_int_equal(run(&fleet_flamegraph, line), 0);
	assert_non_null(strstr(ran.err, path));
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_size > 1000);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void two_selections_are_compared(void **state)
{
	assert_int_equal(run(&fleet_diff, "-f txt --host a --against --host b"), 0);
	assert_non_null(strstr(ran.out, "host a"));
	assert_non_null(strstr(ran.out, "host b"));
	assert_int_equal(run(&fleet_diff, "--host a"), 2);
	assert_true(command_run_complained("--against"));
	assert_int_equal(run(&fleet_diff, "-o x.folded --against --host b"), 2);
}

static void all_that_has_no_name_is_asked_for(void **state)
{
	char folder[] = "/tmp/fleet-XXXXXX", line[128];

	assert_non_null(mkdtemp(folder));
	(void)snprintf(line, sizeof(line), "--cache %s", folder);
	assert_int_equal(run(&fleet_symbolize, line), 0);
	assert_string_equal(ran.out, "0 of 1000001 locations without a name got one; 0 binaries "
				     "got symbols\n");
	(void)snprintf(line, sizeof(line), "rm -r %s", folder);
	assert_int_equal(system(line), 0);
}

static void what_fails_is_explained(void **state)
{
	assert_int_equal(run(&fleet_report, "--service none"), 1);
	assert_true(command_run_complained("no host of the fleet has samples"));
	assert_int_equal(run(&fleet_report, "--service hostile"), 1);
	assert_true(command_run_complained("not of pilotlight's tables"));
	assert_int_equal(run(&fleet_report, "--last sometime"), 2);
	assert_true(command_run_complained("last"));
	assert_int_equal(run(&fleet_report, "-e kmem:live"), 1);
	assert_true(command_run_complained("adds up over no time"));
	assert_int_equal(run(&fleet_report, "--password-file /nowhere"), 1);
	assert_true(command_run_complained("/nowhere"));
	assert_int_equal(run(&fleet_export, "-f nothing"), 2);
	assert_int_equal(command_run(&fleet_report, "--last 1h"), 2);
	assert_true(command_run_complained("give --clickhouse"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fleet_is_exported),
		cmocka_unit_test(a_fleet_is_listed),
		cmocka_unit_test(the_error_of_drawn_hosts_is_told),
		cmocka_unit_test(a_host_of_two_weights_is_one),
		cmocka_unit_test(a_flame_graph_is_drawn),
		cmocka_unit_test(two_selections_are_compared),
		cmocka_unit_test(all_that_has_no_name_is_asked_for),
		cmocka_unit_test(what_fails_is_explained),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
