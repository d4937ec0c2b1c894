/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_settings.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/event_source.h"
#include "base/log.h"
#include "capture/capture_session.h"
#include "capture/cpu_list.h"
#include "config/bearer_token.h"
#include "config/config_events.h"
#include "config/memory_limit.h"
#include "send/known_rows.h"
#include "serve/http_server.h"
#include "supervise/service_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Permanent structures get 1/3 of the unit's memory limit; symbol workers and queries use the rest
 * while they run. */
enum { STANDING_SHARE = 3 };

__attribute__((format(printf, 2, 3))) static int set_path(
	char path[PATH_MAX], const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(path, PATH_MAX, format, arguments);
	va_end(arguments);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int set_sinks(struct service_settings *settings)
{
	for (size_t i = 0; i < settings->config.sink_count; i++)
		if (asprintf(&settings->sinks[i], "%s/%s", settings->push,
			    settings->config.sinks[i].name) < 0) {
			settings->sinks[i] = NULL;
			return -ENOMEM;
		}
	return 0;
}

static int set_paths(struct service_settings *settings)
{
	char folder[PATH_MAX];
	int r = 0;

	service_folder_path(SERVICE_FOLDER_STATE, folder);
	if (settings->config.history_enabled)
		r = set_path(settings->history, "%s/history", folder);
	if (r == 0 && settings->config.sink_count > 0)
		r = set_path(settings->push, "%s/push", folder);
	if (r == 0)
		r = set_sinks(settings);
	service_folder_path(SERVICE_FOLDER_CACHE, folder);
	if (r == 0)
		r = set_path(settings->symbol_cache, "%s/symbols", folder);
	service_folder_path(SERVICE_FOLDER_RUNTIME, folder);
	if (r == 0)
		r = set_path(settings->loss_record, "%s/loss-record", folder);
	if (r == 0)
		r = set_path(settings->event_orders, "%s/event-orders", folder);
	if (r == 0)
		r = set_path(settings->incident_state, "%s/incident-state", folder);
	if (r == 0 && settings->config.socket[0])
		r = set_path(settings->socket, "%s", settings->config.socket);
	else if (r == 0)
		r = set_path(settings->socket, "%s/api.sock", folder);
	return r;
}

static int set_urls(struct service_settings *settings)
{
	const struct config_list *urls = &settings->config.debuginfod_urls;
	size_t size = 0;

	for (size_t i = 0; i < urls->count; i++) {
		int n = snprintf(settings->debuginfod_urls + size,
			sizeof(settings->debuginfod_urls) - size, "%s%s", i ? " " : "",
			urls->items[i]);

		if (n < 0 || (size_t)n >= sizeof(settings->debuginfod_urls) - size)
			return -ENAMETOOLONG;
		size += (size_t)n;
	}
	return 0;
}

uint32_t service_settings_most_hz(const struct config *config)
{
	return (uint32_t)(config->incident_hz > config->frequency_hz ? config->incident_hz
								     : config->frequency_hz);
}

static uint64_t memory_budget(const struct config *config)
{
	uint64_t unit = memory_limit_read("");

	if (config_is_set(config, "Memory", "MaxBytes") || unit == UINT64_MAX)
		return config->max_bytes;
	return unit / STANDING_SHARE;
}

static int share_memory(const struct config *config, uint32_t sources,
	struct memory_shares *ret_shares, struct fault *fault)
{
	struct memory_work work = { .rate_hz = service_settings_most_hz(config),
		.sources = sources };
	_cleanup_free_ uint32_t *cpus = NULL;
	int count = cpu_list_read_online(&cpus);

	if (count < 0)
		return fault_set(
			fault, count, "cannot read which CPUs are online: %s", strerror(-count));
	work.cpu_count = (uint32_t)count;
	if (config_is_set(config, "Memory", "JitBytes"))
		work.jit_bytes = config->jit_bytes;
	for (size_t i = 0; i < config->sink_count; i++)
		if (strcmp(config->sinks[i].type, "clickhouse") == 0)
			work.sink_bytes += KNOWN_ROWS_BYTES_MAX;
	return memory_shares_compute(memory_budget(config), &work, ret_shares, fault);
}

int service_settings_check(const struct config *config, struct fault *fault)
{
	const char *token_file = config->bearer_token_file;
	struct service_sampling sampling;
	char token[BEARER_TOKEN_BYTES];
	struct memory_shares shares;
	struct fault cause = { 0 };
	int r;

	service_settings_sampling(config, &sampling);
	r = share_memory(config, service_sampling_exact(&sampling), &shares, &cause);
	if (r < 0)
		return fault_set(fault, r, "[Memory] MaxBytes: %.400s", cause.text);
	/* Only the service itself has its credentials; any user may check the rest. */
	r = *token_file == '/' ? bearer_token_read(token_file, token, &cause) : 0;
	return r < 0 && r != -EACCES
		       ? fault_set(fault, r, "[Api] BearerTokenFile: %.400s", cause.text)
		       : 0;
}

uint64_t service_settings_allowed_hz(uint64_t hz, const char *limit_path)
{
	_cleanup_fclose_ FILE *file = fopen(limit_path, "re");
	uint64_t limit_hz;

	if (!file || fscanf(file, "%" SCNu64, &limit_hz) != 1 || limit_hz == 0 || limit_hz > hz)
		return hz;
	return limit_hz;
}

/* The kernel lowers its limit when samples take long. This must not stop the service. */
static void limit_rate(struct config *config)
{
	uint64_t hz = service_settings_allowed_hz(
		config->frequency_hz, "/proc/sys/kernel/perf_event_max_sample_rate");

	if (hz < config->frequency_hz)
		log_warning("FrequencyHz=%" PRIu64 " is more than "
			    "kernel.perf_event_max_sample_rate allows, continuing with %" PRIu64,
			config->frequency_hz, hz);
	config->frequency_hz = hz;
	/* This one is a wish. */
	config->incident_hz = service_settings_allowed_hz(
		config->incident_hz, "/proc/sys/kernel/perf_event_max_sample_rate");
}

/* It has never had an effect, and earlier versions took it. */
static void warn_of_labels(const struct config *config)
{
	for (size_t i = 0; i < config->sink_count; i++)
		if (strcmp(config->sinks[i].type, "pyroscope") == 0 &&
			config_sink_is_set(&config->sinks[i], "Labels"))
			log_warning("[sink %s] Labels: samples of Type=pyroscope have no labels: "
				    "remove this line",
				config->sinks[i].name);
}

static int load_config(struct service_settings *settings, const char *path, unsigned flags)
{
	struct config_problems problems = { 0 };
	int r = config_load(path, flags, &settings->config, &problems);

	if (r < 0)
		return r;
	for (size_t i = 0; i < problems.count; i++)
		log_error("%s", problems.texts[i]);
	r = problems.all > 0 ? -EINVAL : 0;
	config_problems_done(&problems);
	return r;
}

int service_settings_load(const char *config_path, bool is_confined,
	struct service_settings *ret_settings, struct fault *fault)
{
	const unsigned flags =
		(config_path ? CONFIG_MUST_EXIST : 0U) | (is_confined ? CONFIG_WITHOUT_GROUPS : 0U);
	struct service_settings settings = { 0 };
	int r = service_folders_check(fault);

	if (r < 0)
		return r;
	config_default_path(settings.config_path);
	if (config_path)
		(void)snprintf(
			settings.config_path, sizeof(settings.config_path), "%s", config_path);
	r = load_config(&settings, settings.config_path, flags);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		(void)fault_set(fault, r,
			"the configuration is invalid; `pilotlightd --check` lists its problems");
	if (r == 0) {
		r = set_paths(&settings);
		if (r == 0)
			r = set_urls(&settings);
		if (r < 0)
			(void)fault_set(fault, r, "a path or a list is too long: %s", strerror(-r));
	}
	if (r == 0) {
		limit_rate(&settings.config);
		warn_of_labels(&settings.config);
		settings.memory_budget = memory_budget(&settings.config);
		service_settings_sampling(&settings.config, &settings.sampling);
		r = share_memory(&settings.config, service_sampling_exact(&settings.sampling),
			&settings.shares, fault);
	}
	if (r < 0) {
		service_settings_done(&settings);
		return r;
	}
	*ret_settings = settings;
	return 0;
}

enum capture_event service_settings_event(const struct config *config)
{
	if (strcmp(config->event, "cycles") == 0)
		return CAPTURE_EVENT_CYCLES;
	return strcmp(config->event, "cpu-clock") == 0 ? CAPTURE_EVENT_CLOCK : CAPTURE_EVENT_AUTO;
}

/* By the keys that an event has of its own. */
static uint32_t sources_by_key(const struct config *config)
{
	uint32_t sources = 1U << PILOTLIGHT_SOURCE_CPU;

	if (strcmp(config->off_cpu, "no") != 0)
		sources |= 1U << PILOTLIGHT_SOURCE_OFFCPU;
	if (strcmp(config->run_queue, "no") != 0)
		sources |= 1U << PILOTLIGHT_SOURCE_RUNQUEUE;
	sources |= (uint32_t)config->faults << PILOTLIGHT_SOURCE_FAULTS;
	for (enum pilotlight_source i = 0; config->kernel_memory && i < PILOTLIGHT_SOURCES; i++)
		sources |= event_source_is_kmem(i) ? 1U << i : 0;
	return sources;
}

static uint32_t surveyed_by_key(const struct config *config)
{
	uint32_t surveyed = 0;

	if (strcmp(config->off_cpu, "survey") == 0)
		surveyed |= 1U << PILOTLIGHT_SOURCE_OFFCPU;
	if (strcmp(config->run_queue, "survey") == 0)
		surveyed |= 1U << PILOTLIGHT_SOURCE_RUNQUEUE;
	return surveyed;
}

static uint64_t period_by_key(const struct config *config, enum pilotlight_source source)
{
	switch (source) {
	case PILOTLIGHT_SOURCE_CPU:
		return 0;
	case PILOTLIGHT_SOURCE_OFFCPU:
		return config->off_cpu_period_ns;
	case PILOTLIGHT_SOURCE_RUNQUEUE:
		return config->run_queue_period_ns;
	case PILOTLIGHT_SOURCE_FAULTS:
		return config->faults_period;
	default:
		return event_source_is_kmem(source) ? config->kernel_memory_period
						    : event_sources[source].service_period;
	}
}

void service_settings_sampling(const struct config *config, struct service_sampling *ret_sampling)
{
	struct service_sampling sampling = { .sources = sources_by_key(config) };
	struct config_events events;

	config_events_read(config, &events);
	sampling.sources |= events.sources;
	sampling.surveyed = surveyed_by_key(config) & ~events.sources;
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!(sampling.sources & 1U << i))
			continue;
		sampling.periods[i] =
			events.periods[i] ? events.periods[i] : period_by_key(config, i);
		if (sampling.surveyed & 1U << i)
			sampling.periods[i] = config->survey_period_ns;
	}
	for (size_t i = 0; i < events.counted_count && i < PILOTLIGHT_COUNTED_EVENTS; i++) {
		sampling.sources |= 1U << (PILOTLIGHT_SOURCE_COUNTED + i);
		sampling.periods[PILOTLIGHT_SOURCE_COUNTED + i] = events.counted[i].least_period;
		sampling.counted[i] = events.counted[i].event;
	}
	*ret_sampling = sampling;
}

void service_settings_choice(const struct config *config, struct cgroup_choice *ret_choice)
{
	struct fault fault = { 0 };

	*ret_choice = (struct cgroup_choice){ .count = 0 };
	/* Each was checked when it was read, and there is room for all. */
	for (size_t i = 0; i < config->include.count; i++)
		(void)cgroup_choice_add(ret_choice, config->include.items[i], false, &fault);
	for (size_t i = 0; i < config->exclude.count; i++)
		(void)cgroup_choice_add(ret_choice, config->exclude.items[i], true, &fault);
}

int service_settings_order(struct service_settings *settings,
	const struct service_sampling *ordered, struct fault *fault)
{
	struct service_sampling *sampling = &settings->sampling;
	uint32_t exact = service_sampling_exact(sampling), added = ordered->sources & ~exact;
	int r = share_memory(&settings->config, exact | added, &settings->shares, fault);

	if (r < 0)
		return r;
	sampling->sources |= added;
	sampling->surveyed &= ~added;
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!(added & 1U << i))
			continue;
		sampling->periods[i] = ordered->periods[i];
		if (event_source_is_counted(i))
			sampling->counted[i - PILOTLIGHT_SOURCE_COUNTED] =
				ordered->counted[i - PILOTLIGHT_SOURCE_COUNTED];
	}
	return 0;
}

uint64_t service_settings_least_period(enum pilotlight_source source)
{
	return event_sources[source].default_period;
}

/* An engine may ask for these at any time: only it knows who turned them on, and for how long. */
static void allow_events(const struct config_events *events, struct capture_limits *limits)
{
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		uint64_t least = service_settings_least_period(i);

		if (!(events->sources & 1U << i) || event_sources[i].service_period == 0)
			continue;
		if (events->periods[i])
			least = events->periods[i];
		if (!(limits->sources & 1U << i) || limits->least_periods[i] > least)
			limits->least_periods[i] = least;
		limits->sources |= 1U << i;
	}
	for (size_t i = 0; i < events->counted_count; i++)
		if (limits->counted_count < ARRAY_SIZE(limits->counted))
			limits->counted[limits->counted_count++] = events->counted[i];
}

/* What the configuration samples. */
static void allow_sampling(const struct service_sampling *sampling, struct capture_limits *limits)
{
	limits->surveyed = sampling->surveyed;
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		if (!(service_sampling_exact(sampling) & 1U << i))
			continue;
		if (event_source_is_counted(i)) {
			limits->counted[limits->counted_count++] = (struct counted_limit){
				.event = sampling->counted[i - PILOTLIGHT_SOURCE_COUNTED],
				.least_period = sampling->periods[i],
			};
			continue;
		}
		limits->sources |= 1U << i;
		limits->least_periods[i] = sampling->periods[i];
	}
}

/* Without comments and drop-ins: what config_print() writes is one file. */
static int copy_config(const struct config *config, int *ret_fd)
{
	_cleanup_free_ struct output *output = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (config->sink_count == 0) {
		*ret_fd = 0;
		return 0;
	}
	output = malloc(sizeof(*output));
	if (!output)
		return -ENOMEM;
	fd = memfd_create("configuration", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	output_init_fd(output, fd);
	config_print(config, output);
	r = output_finish(output);
	/* An intruder in one sender could open it for writing, for the others to read. */
	if (r == 0 && fcntl(fd, F_ADD_SEALS,
			      F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		r = -errno;
	if (r == 0)
		*ret_fd = TAKE_FD(fd);
	return r;
}

static void fill_limits(const struct config *config, const struct service_sampling *sampling,
	struct capture_limits *ret_limits)
{
	struct config_events allowed;

	*ret_limits = (struct capture_limits){
		.rate_hz = service_settings_most_hz(config),
		.map_bytes = memory_budget(config),
		.event = (uint8_t)service_settings_event(config),
		.allows_kernel = config->kernel_stacks,
		.survey_ns = config->survey_period_ns,
	};
	service_settings_choice(config, &ret_limits->choice);
	allow_sampling(sampling, ret_limits);
	config_events_read_allowed(config, &allowed);
	allow_events(&allowed, ret_limits);
}

int service_settings_read_limits(
	const char *config_path, struct capture_limits *ret_limits, int *ret_config_fd)
{
	const unsigned flags = CONFIG_WITHOUT_GROUPS | (config_path ? CONFIG_MUST_EXIST : 0U);
	struct config_problems problems = { 0 };
	struct config config = { 0 };
	struct service_sampling sampling;
	struct memory_shares shares;
	struct fault fault = { 0 };
	char standard[PATH_MAX];
	int r;

	config_default_path(standard);
	r = config_load(config_path ? config_path : standard, flags, &config, &problems);
	if (r < 0)
		return r;
	r = problems.all > 0 ? -EINVAL : 0;
	/* What an engine refuses must not limit it: it keeps its configuration. */
	if (r == 0) {
		service_settings_sampling(&config, &sampling);
		r = share_memory(&config, service_sampling_exact(&sampling), &shares, &fault);
	}
	if (r == 0)
		r = copy_config(&config, ret_config_fd);
	if (r == 0)
		fill_limits(&config, &sampling, ret_limits);
	config_problems_done(&problems);
	config_done(&config);
	return r;
}

void service_settings_remove_socket(const char *config_path)
{
	const unsigned flags = CONFIG_WITHOUT_GROUPS | (config_path ? CONFIG_MUST_EXIST : 0U);
	struct service_settings settings = { 0 };
	struct config_problems problems;
	char standard[PATH_MAX];

	config_default_path(standard);
	if (config_load(config_path ? config_path : standard, flags, &settings.config, &problems) <
		0)
		return;
	if (set_paths(&settings) == 0)
		http_unlisten_unix(settings.socket);
	config_problems_done(&problems);
	service_settings_done(&settings);
}

void service_settings_done(struct service_settings *settings)
{
	for (size_t i = 0; i < CONFIG_SINKS_MAX; i++) {
		free(settings->sinks[i]);
		settings->sinks[i] = NULL;
	}
	config_done(&settings->config);
}

/* The folder that will hold the file at `path`. */
static int make_folder_of(const char *path, struct fault *fault)
{
	char folder[PATH_MAX], *slash;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = '\0';
	return service_folder_make(folder, fault);
}

int service_settings_make_folders(const struct service_settings *settings, struct fault *fault)
{
	int r = 0;

	if (settings->history[0])
		r = service_folder_make(settings->history, fault);
	if (r == 0)
		r = service_folder_make(settings->symbol_cache, fault);
	for (size_t i = 0; r == 0 && i < settings->config.sink_count; i++)
		r = service_folder_make(settings->sinks[i], fault);
	if (r == 0)
		r = make_folder_of(settings->socket, fault);
	return r < 0 ? r : make_folder_of(settings->loss_record, fault);
}
