/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/doctor/doctor.h"

#include "base/array.h"
#include "base/utf8.h"
#include "tools/doctor/doctor_check.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct doctor_group *const groups[] = {
	&doctor_capabilities,
	&doctor_settings,
	&doctor_kernel,
	&doctor_perf,
	&doctor_bpf,
	&doctor_unwind,
	&doctor_system,
};

struct doctor {
	struct invocation base;
	struct doctor_host host;
	struct doctor_finding *findings; /* owned; in the order of their groups */
	size_t count;
};

/* --- examining -------------------------------------------------------------------------------- */

static int load_smallest_program(void)
{
	/* r0 = 0; exit */
	const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(
		BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", program, ARRAY_SIZE(program), NULL);

	if (fd < 0)
		return fd;
	(void)close(fd);
	return 0;
}

static uint64_t effective_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	(void)syscall(SYS_capget, &header, sets);
	return (uint64_t)sets[1].effective << 32 | sets[0].effective;
}

static void look_at_host(struct doctor_host *ret_host)
{
	struct doctor_host host = { .capabilities = effective_capabilities() };
	struct rlimit limit;

	(void)uname(&host.kernel);
	if (sscanf(host.kernel.release, "%u.%u", &host.major, &host.minor) != 2)
		host.major = 0;
	/* Before libbpf raises it. */
	host.memory_lock_bytes =
		getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
			? limit.rlim_cur
			: UINT64_MAX;
	host.bpf_error = load_smallest_program();
	*ret_host = host;
}

static int examine(struct doctor *doctor)
{
	size_t count = 0;

	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		count += groups[g]->count;
	doctor->findings = calloc(count, sizeof(*doctor->findings));
	if (!doctor->findings)
		return -ENOMEM;
	look_at_host(&doctor->host);
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++)
		for (size_t i = 0; i < groups[g]->count; i++) {
			const struct doctor_check *check = &groups[g]->checks[i];
			struct doctor_finding *finding = &doctor->findings[doctor->count++];

			finding->host = &doctor->host;
			finding->group = groups[g];
			finding->check = check;
			check->function(finding);
			if (!finding->lost)
				finding->lost = check->lost;
			if (!finding->remedy)
				finding->remedy = check->remedy;
		}
	return 0;
}

/* --- the report ------------------------------------------------------------------------------- */

static const struct state_look {
	const char *word;
	const char *colour;
} looks[] = {
	[DOCTOR_OK] = { "ok", "\033[32m" },
	[DOCTOR_LIMITED] = { "limited", "\033[33m" },
	[DOCTOR_MISSING] = { "missing", "\033[31m" },
	[DOCTOR_UNKNOWN] = { "unknown", "\033[36m" },
};

static size_t count_required(const struct doctor *doctor, enum doctor_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->findings[i].check->is_required && doctor->findings[i].state == state)
			count++;
	return count;
}

static bool is_ready(const struct doctor *doctor)
{
	return !count_required(doctor, DOCTOR_MISSING) && !count_required(doctor, DOCTOR_UNKNOWN);
}

/* Findings quote files and the environment (I8). */
static const char *clean_text(const char *text, char clean[UTF8_CLEAN_BYTES])
{
	(void)utf8_clean(clean, text, strlen(text));
	return clean;
}

/* https://no-color.org */
static bool wants_colour(void)
{
	const char *refusal = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(refusal && *refusal) &&
	       !(terminal && !strcmp(terminal, "dumb"));
}

static int name_width(const struct doctor_group *group)
{
	size_t width = 0;

	for (size_t i = 0; i < group->count; i++)
		if (strlen(group->checks[i].name) > width)
			width = strlen(group->checks[i].name);
	return (int)width;
}

static void print_finding(
	struct output *output, const struct doctor_finding *finding, bool has_colour)
{
	const struct state_look *look = &looks[finding->state];
	int width = name_width(finding->group);
	char clean[UTF8_CLEAN_BYTES];

	output_printf(output, "  %s%-7s%s  %-*s  %s\n", has_colour ? look->colour : "", look->word,
		has_colour ? "\033[0m" : "", width, finding->check->name,
		clean_text(finding->found, clean));
	for (size_t i = 0; i < finding->detail_count; i++)
		output_printf(output, "           %s\n", clean_text(finding->details[i], clean));
	if (finding->state == DOCTOR_OK)
		return;
	if (finding->lost && finding->state != DOCTOR_UNKNOWN)
		output_printf(output, "           lost    %s\n", finding->lost);
	if (finding->remedy)
		output_printf(output, "           remedy  %s\n", finding->remedy);
}

static void print_obstacles(struct output *output, const struct doctor *doctor)
{
	size_t unknown = count_required(doctor, DOCTOR_UNKNOWN), printed = 0;
	/* Something missing is often the reason why other findings are unknown. */
	enum doctor_state worst =
		count_required(doctor, DOCTOR_MISSING) ? DOCTOR_MISSING : DOCTOR_UNKNOWN;

	output_string(output, "\nNot ready: pilotlight record needs ");
	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];

		if (finding->check->is_required && finding->state == worst)
			output_printf(output, "%s%s", printed++ ? ", " : "", finding->check->name);
	}
	if (worst == DOCTOR_UNKNOWN)
		output_string(output, ", which cannot be checked here");
	else if (unknown)
		output_printf(output, "; %zu more cannot be checked without", unknown);
	output_string(output, ".\n");
}

static void print_verdict(struct output *output, const struct doctor *doctor)
{
	size_t limits = 0;

	if (!is_ready(doctor)) {
		print_obstacles(output, doctor);
		return;
	}
	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->findings[i].state != DOCTOR_OK)
			limits++;
	output_string(output, "\nReady: pilotlight record works here");
	if (limits)
		output_printf(output, ", with %zu %s, see above", limits,
			limits == 1 ? "limitation" : "limitations");
	output_string(output, ".\n");
}

static void print(struct doctor *doctor)
{
	struct output *output = &doctor->base.output;
	bool has_colour = wants_colour();

	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];

		if (i == 0 || finding->group != doctor->findings[i - 1].group)
			output_printf(output, "%s%s\n", i ? "\n" : "", finding->group->title);
		print_finding(output, finding, has_colour);
	}
	print_verdict(output, doctor);
}

/* A string, or null where there is none or nothing is wrong. */
static void json_advice(struct json *json, const char *key, const char *advice,
	const struct doctor_finding *finding)
{
	json_key(json, key);
	if (advice && finding->state != DOCTOR_OK)
		json_string(json, advice);
	else
		json_null(json);
}

static void print_json(struct doctor *doctor)
{
	struct json *json = &doctor->base.json;

	json_begin_object(json);
	json_member_u64(json, "format", 1);
	json_member_string(json, "version", PILOTLIGHT_VERSION);
	json_member_bool(json, "ready", is_ready(doctor));
	json_key(json, "checks");
	json_begin_array(json);
	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];

		json_begin_object(json);
		json_member_bool(json, "required", finding->check->is_required);
		json_member_string(json, "group", finding->group->title);
		json_member_string(json, "name", finding->check->name);
		json_member_string(json, "state", looks[finding->state].word);
		json_member_string(json, "found", finding->found);
		json_key(json, "details");
		json_begin_array(json);
		for (size_t j = 0; j < finding->detail_count; j++)
			json_string(json, finding->details[j]);
		json_end_array(json);
		json_advice(json, "lost", finding->lost, finding);
		json_advice(json, "remedy", finding->remedy, finding);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
	json_end_line(json);
}

/* --- the command ------------------------------------------------------------------------------ */

static int run(void *invocation)
{
	struct doctor *doctor = invocation;
	int r;

	/* The probes fail on purpose; libbpf would comment on each. */
	(void)libbpf_set_print(NULL);
	r = examine(doctor);
	if (r < 0)
		return r;
	if (doctor->base.is_json)
		print_json(doctor);
	else
		print(doctor);
	r = command_flush(&doctor->base);
	if (r < 0)
		return r;
	return is_ready(doctor) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void done(void *invocation)
{
	struct doctor *doctor = invocation;

	free(doctor->findings);
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "check what this machine offers a profiler",
	.synopsis = "[--json]",
	.description = "Check what this machine offers the profiler, what does not work without "
		       "the missing things, and how to get them. The exit status is 0 if "
		       "pilotlight record can work, else 1.",
	.has_json = true,
	.bytes = sizeof(struct doctor),
	.run = run,
	.done = done,
};
