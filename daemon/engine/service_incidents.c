/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_incidents.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "supervise/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void service_incidents_open(struct service_incidents *incidents)
{
	/* In the order of enum incident_cause. */
	static const char *const paths[SERVICE_PRESSURES] = {
		"/proc/pressure/cpu",
		"/proc/pressure/memory",
		"/proc/pressure/io",
	};

	for (size_t i = 0; i < SERVICE_PRESSURES; i++)
		incidents->pressure_fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
}

void service_incidents_done(struct service_incidents *incidents)
{
	for (size_t i = 0; i < SERVICE_PRESSURES; i++)
		if (incidents->pressure_fds[i] >= 0)
			(void)close(incidents->pressure_fds[i]);
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
		},
		.cool_down_ns = config->incident_cool_down_ns,
		.per_day = (uint32_t)config->incidents_per_day,
	};
}

void service_incidents_recall(struct service_incidents *incidents, const char *history)
{
	struct incident_list list;

	if (incident_log_read(history, &list, NULL) < 0)
		return;
	for (size_t i = 0; i < list.count; i++)
		if (strcmp(list.items[i].cause, "manual") != 0)
			incident_trigger_recall(&incidents->trigger, list.items[i].time_ns);
	incident_list_done(&list);
}

static void wait_for_window(
	struct service_incidents *incidents, const char *cause, const char *text, uint64_t now_ns)
{
	struct incident *incident = &incidents->waiting;

	*incident = (struct incident){
		.time_ns = now_ns,
		.kept_from_ns = now_ns > incidents->keep_ns ? now_ns - incidents->keep_ns : 0,
		.kept_to_ns = now_ns + incidents->keep_ns,
	};
	(void)snprintf(incident->cause, sizeof(incident->cause), "%s", cause);
	incident_set_text(incident, text);
	incidents->is_waiting = true;
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

static double host_cpu(const struct profile *window)
{
	uint64_t samples = window->accounts.fired - window->accounts.dropped[PILOTLIGHT_DROP_IDLE];
	double possible_ns =
		(double)(window->end_ns - window->start_ns) * (double)window->cpu_count;

	return possible_ns > 0 ? 100.0 * (double)samples * (double)window->period_ns / possible_ns
			       : -1;
}

void service_incidents_measure(struct service_incidents *incidents, const struct profile *window)
{
	double measures[INCIDENT_CAUSES];
	enum incident_cause cause;
	char text[INCIDENT_TEXT_BYTES];

	for (size_t i = 0; i < SERVICE_PRESSURES; i++)
		measures[i] = incidents->trigger.settings.thresholds[i] > 0
				      ? read_pressure(incidents->pressure_fds[i])
				      : -1;
	measures[INCIDENT_HOST_CPU] = host_cpu(window);
	if (!incident_trigger_check(&incidents->trigger, measures, window->end_ns, &cause) ||
		incidents->is_waiting)
		return;
	(void)snprintf(text, sizeof(text), "%.1f %% (threshold %" PRIu32 " %%)", measures[cause],
		incidents->trigger.settings.thresholds[cause]);
	wait_for_window(incidents, incident_cause_name(cause), text, window->end_ns);
}

int service_incidents_note(struct service_incidents *incidents, const char *text)
{
	if (incidents->is_waiting)
		return -EBUSY;
	wait_for_window(incidents, "manual", text, clock_realtime_ns());
	return 0;
}

const struct incident *service_incidents_take(struct service_incidents *incidents)
{
	bool is_waiting = incidents->is_waiting;

	incidents->is_waiting = false;
	return is_waiting ? &incidents->waiting : NULL;
}

void service_incidents_give_back(
	struct service_incidents *incidents, const struct incident *incident)
{
	if (incidents->is_waiting)
		return;
	/* It may be the one that was taken. */
	memmove(&incidents->waiting, incident, sizeof(*incident));
	incidents->is_waiting = true;
}

void service_incidents_log(const struct incident *incident)
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

	(void)snprintf(number, sizeof(number), "%" PRIu64, incident->number);
	log_event(&event,
		"incident %s, %s: %s; look at it with pilotlight flamegraph --incident %s", number,
		incident->cause, incident->text, number);
}
