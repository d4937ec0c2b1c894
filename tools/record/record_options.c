/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_options.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "capture/event_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	RATE_HZ_DEFAULT = 99, /* not 100, which would march in step with the timer tick */
	RATE_HZ_MAX = 20000,
	STACK_SLOTS_MAX = 1 << 16,
	LIST_BYTES = 512,
	NUMBER_BYTES = 24,
};
#define PROBE		"usdt:"
#define PERIOD_MAX	1000000000ULL
#define DURATION_NS_MIN (NSEC_PER_SEC / 1000)
#define DURATION_NS_MAX (7ULL * 24 * 3600 * NSEC_PER_SEC)

static int take_pid(void *invocation, const struct option_row *option, const char *value)
{
	struct record_options *options = invocation;
	uint64_t pid;

	(void)option;
	if (command_parse_number(value, 1, INT32_MAX, &pid) < 0)
		return command_misuse(
			options->base.command, "-p takes the PID of a process, not '%s'", value);
	if (options->pid_count == RECORD_PIDS_MAX)
		return command_misuse(options->base.command,
			"-p is given more than %d times, the last with '%s'", RECORD_PIDS_MAX,
			value);
	options->pids[options->pid_count++] = (pid_t)pid;
	return 0;
}

/* "--exclude-unit NAME" adds the rule "unit:NAME". */
static int take_rule(void *invocation, const struct option_row *option, const char *value)
{
	static const char exclude[] = "exclude-";
	struct record_options *options = invocation;
	const char *kind = option->name;
	bool is_excluding = strncmp(kind, exclude, sizeof(exclude) - 1) == 0;
	_cleanup_free_ char *rule = NULL;
	struct fault fault = { 0 };

	if (is_excluding)
		kind += sizeof(exclude) - 1;
	if (asprintf(&rule, "%s:%s", kind, value) < 0)
		return command_misuse(options->base.command, "out of memory");
	if (cgroup_choice_add(&options->choice, rule, is_excluding, &fault) < 0)
		return command_misuse(options->base.command, "--%s: %s", option->name, fault.text);
	return 0;
}

static int take_span(void *invocation, const struct option_row *option, const char *value)
{
	struct record_options *options = invocation;
	const bool is_trace = strcmp(option->name, "trace") == 0;

	if ((is_trace ? span_choice_set_trace : span_choice_set_span)(&options->spans, value) < 0)
		return command_misuse(options->base.command,
			"--%s takes the %d hexadecimal digits of a %s's id, not '%s'", option->name,
			is_trace ? TRACE_ID_TEXT_BYTES - 1 : SPAN_ID_TEXT_BYTES - 1, option->name,
			value);
	return 0;
}

const char *record_output_name(const struct record_options *options, unsigned output)
{
	if (output == RECORD_WALL)
		return event_source_wall.name;
	return event_source_is_counted(output)
		       ? options->counted[output - PILOTLIGHT_SOURCE_COUNTED].name
		       : event_sources[output].name;
}

/* "cpu, offcpu, ..., wall" */
static const char *list_outputs(const struct record_options *options, char text[LIST_BYTES])
{
	size_t size = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < RECORD_OUTPUTS && size < LIST_BYTES; i++)
		if (!event_source_is_counted(i))
			size += (size_t)snprintf(text + size, LIST_BYTES - size, "%s%s",
				i == 0 ? "" : ", ", record_output_name(options, i));
	return text;
}

/* Gives the event a place, unless it has one. */
static int add_counted(struct record_options *options, const struct pilotlight_counted_event *event,
	uint64_t period, const struct record_probe_name *probe, unsigned *ret_output)
{
	size_t i = 0;

	while (i < PILOTLIGHT_COUNTED_EVENTS && *options->counted[i].name &&
		strcmp(options->counted[i].name, event->name) != 0)
		i++;
	if (i == PILOTLIGHT_COUNTED_EVENTS)
		return command_misuse(options->base.command,
			"-e takes at most %d events of perf; '%s' is one more",
			PILOTLIGHT_COUNTED_EVENTS, event->name);
	options->counted[i] = *event;
	options->counted_periods[i] = period;
	if (probe)
		options->probes[i] = *probe;
	*ret_output = PILOTLIGHT_SOURCE_COUNTED + (unsigned)i;
	return 0;
}

static bool is_probe(const char *name, size_t size)
{
	return size >= strlen(PROBE) && strncmp(name, PROBE, strlen(PROBE)) == 0;
}

/* In the history it has the binary's name without its folder. */
static int take_probe(
	struct record_options *options, const char *text, size_t size, unsigned *ret_output)
{
	struct pilotlight_counted_event event = { .kind = PILOTLIGHT_COUNTED_PROBE };
	struct record_probe_name name;
	const char *file, *slash;

	if (record_probe_name_parse(text, size, &name) < 0)
		return command_misuse(options->base.command,
			"a probe is usdt:BINARY:PROVIDER:NAME, not '%.*s'", (int)size, text);
	slash = memrchr(name.path, '/', name.path_size);
	file = slash ? slash + 1 : name.path;
	size = (size_t)(name.name + name.name_size - file);
	if (snprintf(event.name, sizeof(event.name), PROBE "%.*s", (int)size, file) >=
		(int)sizeof(event.name))
		return command_misuse(options->base.command,
			"the name of the probe '%.*s' is longer than %zu characters", (int)size,
			file, sizeof(event.name) - strlen(PROBE) - 1);
	/* It names a file of the recording. */
	for (char *next = event.name; *next; next++)
		if (*next <= ' ' || *next > '~' || strchr("\"\\", *next))
			*next = '_';
	return add_counted(options, &event, 1, &name, ret_output);
}

static int take_counted(
	struct record_options *options, const char *name, size_t size, unsigned *ret_output)
{
	struct pilotlight_counted_event event;
	char text[PILOTLIGHT_EVENT_NAME_BYTES + 1], list[LIST_BYTES];
	uint64_t period;

	(void)snprintf(text, sizeof(text), "%.*s", (int)size, name);
	if (is_probe(name, size))
		return take_probe(options, name, size, ret_output);
	if (event_name_find(text, EVENT_NAME_PMU, &event, &period, NULL) == 0)
		return add_counted(options, &event, period, NULL, ret_output);
	return command_misuse(options->base.command,
		"-e takes %s, an event of perf such as cache-misses or context-switches, a "
		"tracepoint such as sched:sched_process_exec, or a probe "
		"usdt:BINARY:PROVIDER:NAME, separated by commas, but not '%.*s'",
		list_outputs(options, list), (int)size, name);
}

static int take_output(
	struct record_options *options, const char *name, size_t size, unsigned *ret_output)
{
	unsigned output = 0;
	int r = 0;

	while (output < RECORD_OUTPUTS &&
		(event_source_is_counted(output) ||
			strlen(record_output_name(options, output)) != size ||
			strncmp(record_output_name(options, output), name, size)))
		output++;
	if (output == RECORD_OUTPUTS)
		r = take_counted(options, name, size, &output);
	if (r != 0)
		return r;
	options->outputs |= 1U << output;
	*ret_output = output;
	return 0;
}

/* "period=N/", perf's way to give an event a period of its own. */
static int take_period(
	struct record_options *options, unsigned output, const char *text, size_t size)
{
	static const char key[] = "period=";
	const size_t key_size = sizeof(key) - 1;
	char number[NUMBER_BYTES] = "";

	if (size > key_size + 1 && size - key_size <= sizeof(number) &&
		strncmp(text, key, key_size) == 0 && text[size - 1] == '/')
		memcpy(number, text + key_size, size - key_size - 1);
	if (output == RECORD_WALL || output == PILOTLIGHT_SOURCE_CPU ||
		command_parse_number(number, 1, PERIOD_MAX, &options->periods[output]) < 0)
		return command_misuse(options->base.command,
			"an event of -e may be followed by /period=N/, with a number from 1 to "
			"%llu, "
			"but not by '/%.*s'; cpu has a rate, and wall has those of its parts",
			PERIOD_MAX, (int)size, text);
	return 0;
}

/* Without "/period=N/". A probe's name has a path in it. */
static size_t name_size_of(const char *item, size_t size)
{
	static const char period[] = "/period=";
	const char *end;

	if (!is_probe(item, size))
		return strcspn(item, ",/");
	end = memmem(item, size, period, sizeof(period) - 1);
	return end ? (size_t)(end - item) : size;
}

static int take_events(void *invocation, const struct option_row *option, const char *value)
{
	struct record_options *options = invocation;
	const char *name = value;
	unsigned output = 0;

	(void)option;
	for (;;) {
		size_t size = strcspn(name, ","), name_size = name_size_of(name, size);
		int r = take_output(options, name, name_size, &output);

		if (r == 0 && name_size < size)
			r = take_period(
				options, output, name + name_size + 1, size - name_size - 1);
		if (r != 0 || !name[size])
			return r;
		name += size + 1;
	}
}

const struct option_row record_option_rows[] = {
	{ 'F', "frequency", "HZ",
		"Take HZ samples a second on each CPU (99); at most the sysctl "
		"kernel.perf_event_max_sample_rate.",
		OPTION_NUMBER, .offset = offsetof(struct record_options, rate_hz), .min = 1,
		.max = RATE_HZ_MAX },
	{ 'e', "event", "NAME[,NAME...]",
		"Sample cpu, the time on CPU (the default); offcpu, the time blocked; runqueue, "
		"the time waiting for a CPU; wall, the sum of the three; lock, the time waiting "
		"for locks; block or block:bytes, I/O of block devices; faults, page faults; "
		"heap:live, memory that programs hold; an "
		"event of perf, such as cache-misses; a tracepoint, SUBSYSTEM:NAME; or a probe of "
		"a program, usdt:BINARY:PROVIDER:NAME. Several make a file each: "
		"flamegraph.offcpu.svg. `faults/period=1/` has a period of its own; `pilotlight "
		"events` lists them.",
		OPTION_CALL, .take = take_events },
	{ 'c', "count", "N",
		"Take a sample at each N-th of what is counted, such as page faults; 1 takes each.",
		OPTION_NUMBER, .offset = offsetof(struct record_options, period), .min = 1,
		.max = PERIOD_MAX },
	{ 'd', "duration", "TIME", "Stop after TIME, in seconds or with a unit: ms, s, min, h.",
		OPTION_DURATION, .offset = offsetof(struct record_options, duration_ns),
		.min = DURATION_NS_MIN, .max = DURATION_NS_MAX },
	{ 'p', "pid", "PID", "Sample only this process and its children; may be repeated.",
		OPTION_CALL, .take = take_pid },
	{ 0, "unit", "NAME",
		"Sample only this systemd unit or slice, with all its processes; may be repeated, "
		"also together with --cgroup and --container. NAME* is any name that begins so.",
		OPTION_CALL, .take = take_rule },
	{ 0, "cgroup", "PATH", "Sample only this cgroup and those below it, such as /system.slice.",
		OPTION_CALL, .take = take_rule },
	{ 0, "container", "ID",
		"Sample only this container: 12 digits of its id, or more, or an LXC container's "
		"or machine's name.",
		OPTION_CALL, .take = take_rule },
	{ 0, "exclude-unit", "NAME", "Do not sample this unit; may be repeated, as the next two.",
		OPTION_CALL, .take = take_rule },
	{ 0, "exclude-cgroup", "PATH", "Do not sample this cgroup.", OPTION_CALL,
		.take = take_rule },
	{ 0, "exclude-container", "ID", "Do not sample this container.", OPTION_CALL,
		.take = take_rule },
	{ 0, "trace", "ID",
		"Keep only samples of this trace of OpenTelemetry: 32 hexadecimal digits. Programs "
		"tell by OpenTelemetry's thread context what their threads work on.",
		OPTION_CALL, .take = take_span },
	{ 0, "span", "ID", "Keep only samples of this span: 16 hexadecimal digits.", OPTION_CALL,
		.take = take_span },
	{ 'a', "all-cpus", NULL, "Sample every process although there is a COMMAND.", OPTION_SET,
		.offset = offsetof(struct record_options, samples_all) },
	{ 'o', "output", "FILE",
		"Write to FILE (flamegraph.svg); its ending (.svg, .folded, .pb.gz, "
		".otlp.gz, .push.pb, .parca, .clickhouse, .html, .json, .txt, .top, .sites) "
		"chooses the format. "
		"`-` is standard output.",
		OPTION_STRING, .offset = offsetof(struct record_options, path) },
	{ 'f', "format", "FORMAT",
		"Write svg, folded, pprof, otlp, pyroscope, parca, clickhouse, html, json, txt, "
		"top or sites, "
		"whatever the file's ending.",
		OPTION_STRING, .offset = offsetof(struct record_options, format_name) },
	{ 0, "lines", NULL, "Keep the lines of a function apart: `name (file.c:123)`.", OPTION_SET,
		.offset = offsetof(struct record_options, is_by_line) },
	{ 0, "times", NULL,
		"In pprof and otlp, tell when samples of the first ten minutes were taken, to 10 "
		"ms.",
		OPTION_SET, .offset = offsetof(struct record_options, has_times) },
	{ 0, "unwind", "auto|fp",
		"How to walk user stacks: by unwind tables where code keeps no frame pointers "
		"(auto, the default), or by frame pointers alone (fp).",
		OPTION_CHOICE, .offset = offsetof(struct record_options, unwind) },
	{ 0, "runtime-frames", "spliced|both|native",
		"How to show code that an interpreter runs: in place of the native frame that runs "
		"it (spliced, the default), with that frame (both), or not (native).",
		OPTION_CHOICE, .offset = offsetof(struct record_options, runtime_frames) },
	{ 0, "no-kernel", NULL, "Leave out kernel frames.", OPTION_CLEAR,
		.offset = offsetof(struct record_options, samples_kernel) },
	{ 0, "wakers", NULL,
		"With -e offcpu: show above each wait the stack of the thread that ended it, and "
		"`[woken by NAME]`.",
		OPTION_SET, .offset = offsetof(struct record_options, samples_wakers) },
	{ 0, "stack-slots", "N", "Force the size of the stack maps, for tests.", OPTION_NUMBER,
		.offset = offsetof(struct record_options, stack_slots), .min = 1,
		.max = STACK_SLOTS_MAX },
	{ 'q', "quiet", NULL, "Print errors only.", OPTION_SET,
		.offset = offsetof(struct record_options, is_quiet) },
	{ 'v', "verbose", NULL, "Print debugging messages.", OPTION_SET,
		.offset = offsetof(struct record_options, is_verbose) },
	{ 0 },
};

static const char default_path[] = "flamegraph.svg";

bool record_options_has_default_path(const struct record_options *options)
{
	return options->path == default_path;
}

void record_options_prepare(void *invocation)
{
	struct record_options *options = invocation;

	options->rate_hz = RATE_HZ_DEFAULT;
	options->path = default_path;
	options->unwind = "auto";
	options->runtime_frames = "spliced";
	options->samples_kernel = true;
}

uint32_t record_options_sources(const struct record_options *options)
{
	uint32_t sources = options->outputs & ~(1U << RECORD_WALL);

	if (options->outputs & 1U << RECORD_WALL)
		for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
			if (event_source_is_of_wall(i))
				sources |= 1U << i;
	return sources;
}

uint64_t record_options_period(const struct record_options *options, enum pilotlight_source source)
{
	const struct event_source *kind = &event_sources[source];

	if (options->periods[source] > 0)
		return options->periods[source];
	if (options->period > 0 && event_source_unit(kind) == EVENT_UNIT_COUNT)
		return options->period;
	return event_source_is_counted(source)
		       ? options->counted_periods[source - PILOTLIGHT_SOURCE_COUNTED]
		       : kind->default_period;
}

static bool has_several(const struct record_options *options)
{
	return options->outputs & (options->outputs - 1);
}

const char *record_options_path(
	const struct record_options *options, unsigned output, char path[PATH_MAX])
{
	const char *ending = "";
	int stem;

	if (!has_several(options))
		return options->path;
	/* -f may contradict the ending, or there is none: then the name comes last. */
	if (profile_format_of_path(options->path))
		ending = profile_format_of_path(options->path)->ending;
	stem = (int)(strlen(options->path) - strlen(ending));
	if (snprintf(path, PATH_MAX, "%.*s.%s%s", stem, options->path,
		    record_output_name(options, output), ending) >= PATH_MAX)
		return NULL;
	return path;
}

bool record_options_has_heaps(const struct record_options *options)
{
	const uint32_t heaps =
		1U << PILOTLIGHT_SOURCE_HEAP_ALLOC | 1U << PILOTLIGHT_SOURCE_HEAP_LIVE;

	return options->outputs & heaps;
}

static int choose_format(struct record_options *options)
{
	const struct command *command = options->base.command;

	if (options->format_name) {
		options->format = profile_format_find(options->format_name);
		if (!options->format)
			return command_misuse(command, "-f takes %s, not '%s'",
				profile_format_names(), options->format_name);
	} else if (strcmp(options->path, "-") == 0) {
		options->format = &profile_formats[0];
	} else {
		options->format = profile_format_of_path(options->path);
	}
	if (!options->format)
		return command_misuse(command,
			"the ending of '%s' names no format; choose one with -f: %s", options->path,
			profile_format_names());
	if (options->has_times && strcmp(options->format->name, "pprof") != 0 &&
		strcmp(options->format->name, "otlp") != 0)
		return command_misuse(
			command, "%s tells no times; use pprof or otlp", options->format->name);
	return 0;
}

int record_options_check(struct record_options *options)
{
	const struct command *command = options->base.command;
	int r;

	if (options->outputs == 0)
		options->outputs = 1U << PILOTLIGHT_SOURCE_CPU;
	if (options->base.argument_count > 0)
		options->command = options->base.arguments;
	r = choose_format(options);
	if (r != 0)
		return r;
	if (has_several(options) && strcmp(options->path, "-") == 0)
		return command_misuse(command,
			"-e with several events writes several files; name a file with -o");
	if (record_options_has_heaps(options) && options->pid_count == 0 &&
		(!options->command || options->samples_all))
		return command_misuse(command,
			"heap:alloc and heap:live sample processes of -p or a COMMAND, not all: "
			"each malloc() of the machine would cost some microseconds");
	if (options->samples_wakers &&
		!(record_options_sources(options) & 1U << PILOTLIGHT_SOURCE_OFFCPU))
		return command_misuse(
			command, "--wakers shows who ends waits; add -e offcpu or -e wall");
	if ((options->spans.has_trace || options->spans.has_span) &&
		strcmp(options->unwind, "auto") != 0)
		return command_misuse(
			command, "--trace and --span need --unwind=auto, which reads threads");
	if (options->samples_all && options->pid_count > 0)
		return command_misuse(command, "-a and -p exclude each other");
	if (options->command && options->pid_count > 0)
		return command_misuse(
			command, "-p and the command '%s' exclude each other", options->command[0]);
	return 0;
}

int record_options_check_rate(uint32_t rate_hz, const char *limit_path, struct fault *fault)
{
	_cleanup_fclose_ FILE *file = fopen(limit_path, "re");
	uint32_t limit_hz;

	if (!file || fscanf(file, "%" SCNu32, &limit_hz) != 1 || rate_hz <= limit_hz)
		return 0;
	return fault_set(fault, -EINVAL,
		"cannot sample %" PRIu32 " times a second, since the kernel allows %" PRIu32
		"; use -F %" PRIu32
		" or less, or `sysctl kernel.perf_event_max_sample_rate=%" PRIu32 "`",
		rate_hz, limit_hz, limit_hz, rate_hz);
}
