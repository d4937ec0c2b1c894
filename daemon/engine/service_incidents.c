/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_incidents.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "engine/cgroup_usage.h"
#include "labels/cgroup_path.h"
#include "supervise/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void service_incidents_open(struct service_incidents *incidents)
{
	/* In the order of enum incident_cause, from INCIDENT_CPU_PRESSURE on. */
	static const char *const paths[SERVICE_PRESSURES] = {
		"/proc/pressure/cpu",
		"/proc/pressure/memory",
		"/proc/pressure/io",
	};

	for (size_t i = 0; i < SERVICE_PRESSURES; i++)
		incidents->pressure_fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
	incidents->vmstat_fd = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	incidents->kills = -1;
	throttling_open(&incidents->throttling);
}

void service_incidents_done(struct service_incidents *incidents)
{
	for (size_t i = 0; i < SERVICE_PRESSURES; i++)
		if (incidents->pressure_fds[i] >= 0)
			(void)close(incidents->pressure_fds[i]);
	closep(&incidents->vmstat_fd);
	throttling_close(&incidents->throttling);
}

void service_incidents_configure(struct service_incidents *incidents, const struct config *config)
{
	incidents->keep_ns = config->incident_keep_ns;
	incidents->trigger.settings = (struct incident_settings){
		.thresholds = {
			[INCIDENT_CPU_PRESSURE] = (uint32_t)config->incident_cpu_pressure,
			[INCIDENT_MEMORY_PRESSURE] = (uint32_t)config->incident_memory_pressure,
			[INCIDENT_IO_PRESSURE] = (uint32_t)config->incident_io_pressure,
			[INCIDENT_HOST_CPU] = (uint32_t)config->incident_host_cpu,
			[INCIDENT_RUN_QUEUE] = (uint32_t)config->incident_run_queue,
			[INCIDENT_THROTTLED] = (uint32_t)config->incident_throttled,
			[INCIDENT_OOM_KILL] = config->incident_oom_kill,
			/* The units have the thresholds. */
			[INCIDENT_UNIT_CPU] =
				config->incident_unit_cpu || config->incident_unit_cpu_times,
		},
		.cool_down_ns = config->incident_cool_down_ns,
		.per_day = (uint32_t)config->incidents_per_day,
	};
	incidents->throttling.threshold = (uint32_t)config->incident_throttled;
	incidents->units.settings = (struct unit_usage_settings){
		.percent = (uint32_t)config->incident_unit_cpu,
		.times = (uint32_t)config->incident_unit_cpu_times,
	};
}

static bool is_manual(const struct incident *incident)
{
	return strcmp(incident->cause, "manual") == 0;
}

void service_incidents_recall(struct service_incidents *incidents, const char *history)
{
	struct incident_list list;

	if (incident_log_read(history, &list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		if (!is_manual(&list.items[i]))
			incident_trigger_recall(&incidents->trigger, list.items[i].time_ns);
	incident_list_done(&list);
}

static bool has_room(const struct service_incidents *incidents)
{
	return incidents->waiting_count < SERVICE_INCIDENTS_WAITING;
}

/* A window takes one and adds one by a threshold, so that one has room, however many users note;
 * but not if the one that was taken comes back. */
static bool has_room_for_user(const struct service_incidents *incidents)
{
	return incidents->waiting_count < SERVICE_INCIDENTS_WAITING - 1;
}

static struct incident *insert_first(struct service_incidents *incidents)
{
	memmove(incidents->waiting + 1, incidents->waiting,
		incidents->waiting_count++ * sizeof(incidents->waiting[0]));
	return incidents->waiting;
}

static void wait_for_window(struct service_incidents *incidents, struct incident *incident,
	const char *cause, const char *text, uint64_t time_ns)
{
	*incident = (struct incident){
		.time_ns = time_ns,
		.kept_from_ns = time_ns > incidents->keep_ns ? time_ns - incidents->keep_ns : 0,
		.kept_to_ns = time_ns + incidents->keep_ns,
	};
	(void)snprintf(incident->cause, sizeof(incident->cause), "%s", cause);
	incident_set_text(incident, text);
}

static double read_pressure(int fd)
{
	char text[128];
	ssize_t size = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (size <= 0)
		return -1;
	text[size] = '\0';
	return incident_pressure_parse(text);
}

static double cpu_time_ns(const struct profile *window)
{
	return (double)(window->end_ns - window->start_ns) * (double)window->cpu_count;
}

static double host_cpu(const struct profile *window)
{
	uint64_t samples = window->accounts.fired - window->accounts.dropped[PILOTLIGHT_DROP_IDLE];
	double possible_ns = cpu_time_ns(window);

	return possible_ns > 0 ? 100.0 * (double)samples * (double)window->period_ns / possible_ns
			       : -1;
}

static double run_queue(const struct profile *waits)
{
	/* The few surveys of a window tell too little. */
	const bool is_exact = waits && waits->accounts.events[PILOTLIGHT_EVENT_SURVEYED] == 0;
	double possible_ns = is_exact ? cpu_time_ns(waits) : 0;
	uint64_t samples = 0;

	for (size_t i = 0; possible_ns > 0 && i < waits->samples.count; i++)
		samples += waits->samples.items[i].count;
	return possible_ns > 0 ? 100.0 * (double)samples * (double)waits->period_ns / possible_ns
			       : -1;
}

/* How many processes were killed since the last measure. */
static double new_kills(struct service_incidents *incidents)
{
	enum { VMSTAT_BYTES = 16384 };
	double before = incidents->kills;
	char text[VMSTAT_BYTES];
	ssize_t size = incidents->vmstat_fd < 0
			       ? -1
			       : pread(incidents->vmstat_fd, text, sizeof(text) - 1, 0);

	if (size <= 0)
		return -1;
	text[size] = '\0';
	incidents->kills = incident_kills_parse(text);
	return before >= 0 && incidents->kills >= before ? incidents->kills - before : -1;
}

/* What an incident is about. */
struct finding {
	double measures[INCIDENT_CAUSES];
	struct unit_usage_entry unit;
	const char *throttled; /* a cgroup */
	uint64_t throttled_since_ns;
};

/* A cgroup that is neither of a unit nor a container's counts by its path. */
static void add_unit(struct unit_usage *units, const char *path, double percent)
{
	struct path_part part;
	struct cgroup_labels labels;
	char name[UNIT_USAGE_NAME_BYTES];

	cgroup_path_parse(path, &labels);
	part = labels.user_unit.size > 0   ? labels.user_unit
	       : labels.unit.size > 0	   ? labels.unit
	       : labels.container.size > 0 ? labels.container
					   : (struct path_part){ path, strlen(path) };
	(void)snprintf(name, sizeof(name), "%.*s",
		(int)(part.size < sizeof(name) ? part.size : sizeof(name) - 1), part.text);
	unit_usage_add(units, name, percent);
}

static void measure_cgroups(
	struct service_incidents *incidents, const struct profile *window, struct finding *finding)
{
	const struct incident_settings *settings = &incidents->trigger.settings;
	const uint64_t length_ns = window->end_ns - window->start_ns;
	const uint64_t told_ns = incident_trigger_told_until(&incidents->trigger, window->end_ns);
	struct cgroup_usage usage;

	if (length_ns == 0 || cgroup_usage_init(&usage, window) < 0)
		return;
	unit_usage_tell_until(&incidents->units, told_ns);
	throttling_tell_until(&incidents->throttling, told_ns);
	unit_usage_begin(&incidents->units);
	throttling_begin(&incidents->throttling, length_ns);
	for (size_t i = 0; i < usage.count; i++) {
		const char *path = string_pool_get(&window->strings, usage.items[i].cgroup);
		double percent = 100.0 * (double)usage.items[i].samples *
				 (double)window->period_ns / (double)length_ns;

		if (settings->thresholds[INCIDENT_UNIT_CPU] > 0 && path[0] && path[1])
			add_unit(&incidents->units, path, percent);
		if (settings->thresholds[INCIDENT_THROTTLED] > 0)
			throttling_ask(&incidents->throttling, path);
	}
	cgroup_usage_done(&usage);
	unit_usage_end(
		&incidents->units, length_ns, window->period_ns, window->end_ns, &finding->unit);
	finding->measures[INCIDENT_UNIT_CPU] = finding->unit.current;
	finding->measures[INCIDENT_THROTTLED] = throttling_end(&incidents->throttling,
		window->end_ns, &finding->throttled, &finding->throttled_since_ns);
}

static void describe(const struct service_incidents *incidents, enum incident_cause cause,
	const struct finding *finding, char text[INCIDENT_TEXT_BYTES])
{
	const uint32_t threshold = incidents->trigger.settings.thresholds[cause];
	const double measure = finding->measures[cause];

	switch (cause) {
	case INCIDENT_OOM_KILL:
		(void)snprintf(text, INCIDENT_TEXT_BYTES,
			"%.0f process%s killed for lack of memory", measure,
			measure == 1 ? "" : "es");
		break;
	case INCIDENT_UNIT_CPU:
		(void)snprintf(text, INCIDENT_TEXT_BYTES, "%s: %.1f %% of a CPU, usually %.1f %%",
			finding->unit.name, measure, finding->unit.usual);
		break;
	case INCIDENT_THROTTLED:
		(void)snprintf(text, INCIDENT_TEXT_BYTES,
			"%.80s: %.1f %% of its periods (threshold "
			"%" PRIu32 " %%)",
			finding->throttled, measure, threshold);
		break;
	default:
		(void)snprintf(text, INCIDENT_TEXT_BYTES, "%.1f %% (threshold %" PRIu32 " %%)",
			measure, threshold);
	}
}

void service_incidents_measure(
	struct service_incidents *incidents, const struct profile_set *window)
{
	const struct profile *cpu = window->of[PILOTLIGHT_SOURCE_CPU];
	const uint32_t *thresholds = incidents->trigger.settings.thresholds;
	struct finding finding = { .throttled = "" };
	char text[INCIDENT_TEXT_BYTES];
	enum incident_cause cause;
	uint64_t risen_ns;

	/* What rises meanwhile rises in the next window. */
	if (!has_room(incidents))
		return;
	for (size_t i = 0; i < INCIDENT_CAUSES; i++)
		finding.measures[i] = -1;
	for (size_t i = 0; i < SERVICE_PRESSURES; i++)
		if (thresholds[INCIDENT_CPU_PRESSURE + i] > 0)
			finding.measures[INCIDENT_CPU_PRESSURE + i] =
				read_pressure(incidents->pressure_fds[i]);
	finding.measures[INCIDENT_HOST_CPU] = host_cpu(cpu);
	finding.measures[INCIDENT_RUN_QUEUE] = run_queue(window->of[PILOTLIGHT_SOURCE_RUNQUEUE]);
	if (thresholds[INCIDENT_OOM_KILL] > 0)
		finding.measures[INCIDENT_OOM_KILL] = new_kills(incidents);
	if (thresholds[INCIDENT_UNIT_CPU] > 0 || thresholds[INCIDENT_THROTTLED] > 0)
		measure_cgroups(incidents, cpu, &finding);
	if (!incident_trigger_check(
		    &incidents->trigger, finding.measures, cpu->end_ns, &cause, &risen_ns))
		return;
	describe(incidents, cause, &finding, text);
	if (cause == INCIDENT_UNIT_CPU) {
		risen_ns = finding.unit.risen_ns;
		unit_usage_tell(&incidents->units, finding.unit.name);
	} else if (cause == INCIDENT_THROTTLED) {
		risen_ns = finding.throttled_since_ns;
		throttling_tell(&incidents->throttling, finding.throttled);
	}
	/* Before those of users, since it raises the rate. */
	wait_for_window(
		incidents, insert_first(incidents), incident_cause_name(cause), text, risen_ns);
	incidents->unwritten++;
}

int service_incidents_note(struct service_incidents *incidents, const char *text)
{
	if (!has_room_for_user(incidents))
		return -EBUSY;
	wait_for_window(incidents, &incidents->waiting[incidents->waiting_count++], "manual", text,
		clock_realtime_ns());
	return 0;
}

const struct incident *service_incidents_take(struct service_incidents *incidents)
{
	if (incidents->waiting_count == 0)
		return NULL;
	incidents->taken = incidents->waiting[0];
	incidents->waiting_count--;
	memmove(incidents->waiting, incidents->waiting + 1,
		incidents->waiting_count * sizeof(incidents->waiting[0]));
	return &incidents->taken;
}

void service_incidents_give_back(
	struct service_incidents *incidents, const struct incident *incident)
{
	if (has_room(incidents))
		*insert_first(incidents) = *incident;
	else
		incidents->unwritten -= !is_manual(incident);
}

void service_incidents_written(struct service_incidents *incidents, const struct incident *incident)
{
	char number[24];
	const struct log_field fields[] = {
		{ "INCIDENT", number },
		{ "CAUSE", incident->cause },
		{ "TEXT", incident->text },
	};
	const struct log_event event = {
		.level = LOG_LEVEL_WARNING,
		.id = JOURNAL_INCIDENT,
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};

	incidents->unwritten -= !is_manual(incident);
	(void)snprintf(number, sizeof(number), "%" PRIu64, incident->number);
	log_event(&event,
		"incident %s, %s: %s; look at it with pilotlight flamegraph --incident %s", number,
		incident->cause, incident->text, number);
}
