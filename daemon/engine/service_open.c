/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_state.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/log.h"
#include "broker/start_time.h"
#include "capture/event_name.h"
#include "engine/host_id.h"
#include "engine/service_attributes.h"
#include "export/profile_format.h"
#include "extract/code_instruction.h"
#include "sandbox/sandbox.h"
#include "send/send_receiver.h"
#include "supervise/journal.h"
#include "supervise/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#define JIT_TIMEOUT_NS (2ULL * NSEC_PER_SEC)

/* How old a window may be that is pushed late. Younger ones are not merged with age yet. */
#define CATCH_UP_NS_MAX (3600ULL * NSEC_PER_SEC)

/* How much of the history one measurement of functions may cover. */
#define METRICS_CATCH_UP_NS (600ULL * NSEC_PER_SEC)

enum {
	PID_BITS = 22,	  /* PID_MAX_LIMIT of a 64-bit kernel */
	SURVEY_SHARE = 5, /* of MaxCostPercent= */
};

static int read_boot_id(uint8_t boot_id[16])
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	size_t digits = 0;
	int c;

	if (!file)
		return -errno;
	memset(boot_id, 0, 16);
	while (digits < 32 && (c = fgetc(file)) != EOF) {
		if (c == '-')
			continue;
		if (hex_digit((char)c) < 0)
			break;
		boot_id[digits / 2] = (uint8_t)(boot_id[digits / 2] << 4 | hex_digit((char)c));
		digits++;
	}
	return digits == 32 ? 0 : -EBADMSG;
}

static int listen_unix(
	struct service *service, struct http_listener *ret_listener, struct fault *fault)
{
	const struct config *config = &service->settings.config;
	const mode_t mode = config->self_access ? HTTP_SOCKET_OF_ALL : HTTP_SOCKET_OF_GROUP;
	const char *name = config->group;
	const struct group *group = name[0] ? getgrnam(name) : NULL;
	struct fault refused = { 0 };
	int r;

	if (!group && name[0])
		log_warning("there is no group '%s' ([Api] Group=): only root and the service's "
			    "own user can connect",
			name);
	r = http_listen_unix(service->settings.socket, mode, group ? group->gr_gid : (gid_t)-1,
		ret_listener, &refused);
	if (r != -EPERM || !group)
		return r < 0 ? fault_set(fault, r, "%s", refused.text) : 0;
	/* Root without capabilities, in the foreground. systemd makes the socket itself. */
	log_warning("%s; only this user can connect", refused.text);
	return http_listen_unix(service->settings.socket, mode, (gid_t)-1, ret_listener, fault);
}

/* Reports a fault that shuts TCP clients out. It does not stop the history. */
static void note_listen_fault(struct service *service, const struct fault *fault, const char *how)
{
	log_error("%s, continuing %s", fault->text, how);
	(void)snprintf(service->listen_fault, sizeof(service->listen_fault), "%.*s",
		(int)sizeof(service->listen_fault) - 1, fault->text);
}

/* A failing address does not stop the others, or the history. */
static void listen_tcp(struct service *service, struct http_listener *listeners, size_t *count)
{
	const struct config_list *addresses = &service->settings.config.listen;

	for (size_t i = 0; i < addresses->count && *count < ENGINE_LISTEN_MAX; i++) {
		struct fault fault = { 0 };

		if (http_listen_tcp(addresses->items[i], &listeners[*count], &fault) == 0) {
			++*count;
			continue;
		}
		note_listen_fault(service, &fault, "without it");
	}
}

static int open_listeners(struct service *service, const struct engine_options *options,
	struct http_listener *listeners, size_t *ret_count, struct fault *fault)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < options->listen_count; i++)
		listeners[count++] = http_listener_of(ENGINE_LISTEN_FD + (int)i);
	if (count == 0) {
		r = listen_unix(service, &listeners[count], fault);
		count += r == 0;
	}
	if (r == 0)
		listen_tcp(service, listeners, &count);
	*ret_count = count;
	return r;
}

/* systemd makes the socket as its unit says. */
static void check_sockets(
	const struct service *service, const struct http_listener *listeners, size_t count)
{
	bool is_public = !service->settings.config.self_access;

	for (size_t i = 0; i < count; i++) {
		is_public |= !listeners[i].is_tcp && listeners[i].is_public;
		if (!listeners[i].is_tcp && listeners[i].group == (gid_t)-1)
			log_warning("the service cannot see the file of its socket, so it does not "
				    "know its group: only root and the service's own user get "
				    "answers");
	}
	if (!is_public)
		log_warning("SelfAccess=yes has no effect, since the mode of the socket lets only "
			    "its group connect: set SocketMode=0666 with systemctl edit "
			    "pilotlightd.socket");
}

/* Reads the token. Without a usable one, TCP clients are refused, not let in. */
static void read_token(struct service *service, const struct http_listener *listeners, size_t count)
{
	const char *file = service->settings.config.bearer_token_file;
	struct fault fault = { 0 };
	bool has_tcp = false;

	for (size_t i = 0; i < count; i++)
		has_tcp |= listeners[i].is_tcp;
	if (*file && bearer_token_read(file, service->token, &fault) < 0) {
		service->is_token_missing = true;
		note_listen_fault(service, &fault, "without TCP clients");
	}
	if (has_tcp && !*file)
		log_warning("TCP clients need no token, so anyone who can connect can read "
			    "profiles: set BearerTokenFile= in [Api] of pilotlight.conf(5)");
}

static int open_api(struct service *service, const struct http_listener *listeners, size_t count,
	struct fault *fault)
{
	const struct config *config = &service->settings.config;
	struct http_limits limits = http_default_limits;
	const struct api_options options = {
		.limits = &limits,
		.listeners = listeners,
		.listener_count = count,
		.access = {
			.allows_self = config->self_access,
			.host_names = config->host_names.items,
			.host_name_count = config->host_names.count,
			.token = service->token[0] ? service->token : NULL,
			.refusal = service->is_token_missing
				? "No TCP clients: the service cannot read its bearer token. Its log says why."
				: NULL,
		},
		.broker = service->broker,
		.history = service->settings.history,
		.symbol_cache = service->settings.symbol_cache,
		.context = service,
		.status = service_fill_status,
		.request_seal = service_request_seal,
		.note_incident = service_note_incident,
		.order_events = service_order_events,
	};

	limits.connections = (unsigned)config->max_connections;
	limits.connections_of_user = (limits.connections + 1) / 2;
	return api_new(&options, &service->api, fault);
}

/* Root's rights are no protection: without a capability it still owns what root owns. */
static int continue_without_landlock(int error, struct fault *fault)
{
	if (getuid() == 0)
		return fault_set(fault, error,
			"this kernel has no Landlock (Linux 5.19, 'landlock' in its lsm= list), so "
			"the engine would keep root's access to all files: run it as another user, "
			"by systemctl start pilotlightd or as pilotlightd(8), SECURITY, shows");
	log_info("this kernel has no Landlock: only the rights of the user protect files");
	return 0;
}

/* Drops privileges. The engine can open only these folders from here on. */
static int give_up_privileges(struct service *service, struct fault *fault)
{
	char config_folder[PATH_MAX];
	const struct sandbox_folder folders[] = {
		{ service->settings.history, .is_written = true },
		{ service->settings.push[0] ? service->settings.push : NULL, .is_written = true },
		{ service->settings.symbol_cache, .is_written = true },
		{ config_folder, .is_written = false }, /* for reloading */
		{ "/proc", .is_listed = true },
		{ "/proc/self/maps", .is_written = false }, /* location of the vdso */
		/* libbpf reads the list of CPUs. */
		{ "/sys/devices/system/cpu", .is_written = false },
		{ EVENT_NAME_PMU, .is_written = false }, /* names of events, for reloading */
		/* Whether cgroups are throttled, if it is asked for. */
		{ service->settings.config.incident_throttled > 0 ? "/sys/fs/cgroup" : NULL,
			.is_written = false },
	};
	int r;

	(void)snprintf(config_folder, sizeof(config_folder), "%s", service->settings.config_path);
	if (strrchr(config_folder, '/'))
		*strrchr(config_folder, '/') = '\0';
	r = sandbox_drop_privileges_to(getuid(), getgid());
	if (r == 0)
		r = sandbox_die_with_parent(ENGINE_BROKER_FD);
	if (r < 0)
		return fault_set(fault, r, "cannot give up privileges: %s", strerror(-r));
	r = sandbox_confine(folders + (service->settings.history[0] == '\0'),
		ARRAY_SIZE(folders) - (service->settings.history[0] == '\0'));
	if (r == -ENOSYS || r == -EOPNOTSUPP)
		return continue_without_landlock(r, fault);
	return r < 0 ? fault_set(fault, r, "cannot confine the engine to its folders: %s",
			       strerror(-r))
		     : 0;
}

static void read_sealed(void *context)
{
	struct service *service = context;

	if (service->reads_sealed)
		loss_record_read_sealed(service->settings.history, &service->sealed);
}

static int open_history(struct service *service, struct fault *fault)
{
	const struct config *config = &service->settings.config;
	const struct history_writer_options options = {
		.folder = service->settings.history,
		.limits = {
			.bytes = config->history_bytes,
			.age_s = config->history_age_ns / NSEC_PER_SEC,
			.minute_s = config->minute_after_ns / NSEC_PER_SEC,
			.minutes_s = config->ten_minutes_after_ns / NSEC_PER_SEC,
			.fine_s = config->fine_history_ns / NSEC_PER_SEC,
		},
		.waiting_bytes_max = service->settings.shares.profile_bytes,
		.enter = sandbox_forbid_engine,
		.read_first = read_sealed,
		.context = service,
	};
	int r;

	if (!service->settings.history[0])
		return 0;
	service->reads_sealed = loss_record_needs_history(service->loss_record, &service->sealed);
	r = history_writer_new(&options, &service->writer);
	return r < 0 ? fault_set(fault, r, "cannot start the history's writer: %s", strerror(-r))
		     : 0;
}

/* The history's writer thread and this one write to the disk; the main thread never does. */
static int open_spools(struct service *service, struct fault *fault)
{
	const struct config *config = &service->settings.config;
	struct spool_thread_options options = {
		.count = config->sink_count,
		.enter = sandbox_forbid_engine,
	};
	int r;

	if (config->sink_count == 0)
		return 0;
	for (size_t i = 0; i < config->sink_count; i++)
		options.spools[i] = (struct spool_options){
			.folder = service->settings.sinks[i],
			.ending = profile_format_find(config->sinks[i].type)->ending,
			.bytes_max = config->sinks[i].max_bytes,
			.age_max_ns = send_receiver_max_age(&config->sinks[i]),
		};
	r = spool_thread_new(&options, &service->spools);
	return r < 0 ? fault_set(fault, r, "cannot start the writer for sinks: %s", strerror(-r))
		     : 0;
}

/* Events of perf come and go by name, so sinks do not get them. */
static uint32_t pushed_sources(const struct service *service)
{
	uint32_t sources = 0;

	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (!event_source_is_counted(i))
			sources |= service->settings.sampling.sources & 1U << i;
	return sources;
}

static int open_push(struct service *service)
{
	const struct config *config = &service->settings.config;
	struct push_options options = {
		.spools = service->spools,
		.sink_count = config->sink_count,
		.broker = service->broker,
		.history = service->settings.history,
		.symbol_cache = service->settings.symbol_cache,
		.sources = pushed_sources(service),
		.catch_up_ns = CATCH_UP_NS_MAX,
	};

	if (!service->spools)
		return 0;
	if (options.catch_up_ns > config->minute_after_ns / 4 * 3)
		options.catch_up_ns = config->minute_after_ns / 4 * 3;
	for (size_t i = 0; i < config->sink_count; i++)
		options.sinks[i] = (struct push_sink_options){
			.name = config->sinks[i].name,
			.type = config->sinks[i].type,
			.format = config->sinks[i].type,
			.labels = config_sink_has_labels(&config->sinks[i])
					  ? config->sinks[i].labels
					  : NULL,
			.interval_ns = config->sinks[i].interval_ns,
			.name_wait_ns = config->sinks[i].name_wait_ns,
			.host_id = service->host_id,
			.sample_hosts_ppm = (uint32_t)config->sinks[i].sample_hosts_ppm,
			.attributes = service->attributes[i],
			.plain_bytes_max = send_receiver_plain_bytes_max(&config->sinks[i]),
			.send_timeout_ns = send_receiver_timeout_ns(&config->sinks[i]),
		};
	return push_new(&options, &service->push);
}

static int open_meter(struct service *service)
{
	const struct config *config = &service->settings.config;
	const struct function_meter_options options = {
		.metrics = config->metrics,
		.metric_count = config->metric_count,
		.broker = service->broker,
		.history = service->settings.history,
		.symbol_cache = service->settings.symbol_cache,
		.catch_up_ns = METRICS_CATCH_UP_NS,
	};

	if (config->metric_count == 0 || !service->writer)
		return 0;
	return function_meter_new(&options, &service->meter);
}

static int open_pipeline(struct service *service, struct fault *fault)
{
	const struct service_settings *settings = &service->settings;
	const struct memory_shares *shares = &settings->shares;
	struct process_table_limits processes;
	struct binary_table_limits binaries;
	struct cgroup_table_limits cgroups;
	struct pipeline_settings options = {
		.capture = {
			.rate_hz = service_settings_most_hz(&settings->config),
			.event = service_settings_event(&settings->config),
			.wants_kernel = settings->config.kernel_stacks,
			.map_budget_bytes = shares->map_bytes,
			.unwind_budget_bytes = shares->unwind_bytes,
			.sources = settings->sampling.sources,
			.surveyed = settings->sampling.surveyed,
		},
		.broker = service->broker,
		.capture_fd = ENGINE_CAPTURE_FD,
		.profile_budget_bytes = shares->profile_bytes,
		.symbol_cache = settings->symbol_cache,
		.symbol_cache_bytes = settings->config.symbol_cache_bytes,
		.debuginfod_urls = settings->debuginfod_urls[0] ? settings->debuginfod_urls : NULL,
		.jit_timeout_ns = JIT_TIMEOUT_NS,
		.keeps_times = settings->history[0] && settings->config.fine_history_ns > 0,
		.keeps_spans = settings->history[0] && settings->config.fine_history_ns > 0,
		.jit_bytes = shares->jit_bytes,
		.late_bytes = shares->late_bytes,
		.runtime_bytes = shares->runtime_bytes,
		.live_bytes = shares->live_bytes,
		.process_limits = &processes,
		.binary_limits = &binaries,
		.cgroup_limits = &cgroups,
		.wants_labels = true,
		.survey_ppm = settings->config.max_cost_ppm / SURVEY_SHARE,
		.drained = service_record_losses,
		.drained_context = service,
	};

	memcpy(options.capture.periods, settings->sampling.periods,
		sizeof(options.capture.periods));
	memcpy(options.capture.counted, settings->sampling.counted,
		sizeof(options.capture.counted));
	memory_shares_process_limits(shares, &processes);
	memory_shares_binary_limits(shares, &binaries);
	memory_shares_cgroup_limits(shares, &cgroups);
	return pipeline_open(&options, &service->pipeline, fault);
}

static int watch(struct service *service, int fd, enum service_event what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = what };

	return epoll_ctl(service->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Call before any other thread starts: there, an unblocked signal would end us. */
static int open_signals(struct service *service)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	service->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return service->signal_fd < 0 ? -errno : 0;
}

static int open_polling(struct service *service)
{
	int r;

	service->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (service->epoll_fd < 0)
		return -errno;
	r = watch(service, service->signal_fd, SERVICE_SIGNALS);
	if (r == 0)
		r = watch(service, pipeline_poll_fd(service->pipeline), SERVICE_PIPELINE);
	if (r == 0)
		r = watch(service, api_poll_fd(service->api), SERVICE_API);
	if (r == 0 && service->writer)
		r = watch(service, history_writer_poll_fd(service->writer), SERVICE_WRITER);
	if (r == 0 && service->push)
		r = watch(service, push_poll_fd(service->push), SERVICE_PUSH);
	if (r == 0 && service->meter)
		r = watch(service, function_meter_poll_fd(service->meter), SERVICE_METER);
	return r;
}

/* This also opens the journal's socket before the sandbox forbids new sockets. */
static void log_start(const struct service *service)
{
	const struct log_field fields[] = { { "CONFIG", service->settings.config_path } };
	const struct log_event event = {
		.level = LOG_LEVEL_INFO,
		.id = JOURNAL_ENGINE_STARTED,
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};

	log_event(&event, "the engine starts with %llu MiB of memory and %s%s",
		(unsigned long long)(service->settings.memory_budget >> 20),
		service->settings.history[0] ? "the history in " : "without a history",
		service->settings.history);
}

/* Identifies this service, by pid and start time of its main process. The pid is not enough: in a
 * container it is the same after each restart. */
static uint64_t service_number(void)
{
	_cleanup_close_ int fd = -1;
	uint64_t pid = (uint64_t)getppid(), ticks = 0;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%llu", (unsigned long long)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || start_time_read(fd, &ticks) < 0)
		log_debug("cannot read the service's start time, continuing with its pid alone");
	return ticks << PID_BITS | pid;
}

/* The settings, their folders, and what earlier engines have left there. */
static int open_settings(
	struct service *service, const struct engine_options *options, struct fault *fault)
{
	uint64_t number = service_number();
	struct fault unkept = { 0 };
	int r = service_settings_load(options->config, false, &service->settings, fault);

	service->has_invalid_config = r == -EINVAL || r == -ENOSPC;
	if (r == 0)
		r = service_settings_make_folders(&service->settings, fault);
	if (r == 0)
		r = read_boot_id(service->boot_id);
	if (r == 0)
		r = loss_record_open(service->settings.loss_record, service->boot_id, number,
			&service->loss_record, fault);
	if (r == 0)
		r = event_orders_open(service->settings.event_orders, service->boot_id, number,
			&service->orders, fault);
	/* It only serves the first window. */
	if (r == 0 && incident_state_open(service->settings.incident_state, service->boot_id,
			      &service->incident_state, &unkept) < 0)
		log_warning("%s; incidents that begin while the engine restarts are missed",
			unkept.text);
	return r;
}

static int read_attributes(struct service *service)
{
	const struct config *config = &service->settings.config;
	int r = 0;

	/* Draws of hosts need an id that is not that of others. */
	if (host_id_read(NULL, service->host_id) < 0)
		(void)gethostname(service->host_id, sizeof(service->host_id) - 1);
	for (size_t i = 0; r == 0 && i < config->sink_count; i++)
		r = service_attributes_new(&config->sinks[i], &service->attributes[i]);
	return r;
}

int service_open(struct service *service, const struct engine_options *options, struct fault *fault)
{
	struct http_listener listeners[2 * ENGINE_LISTEN_MAX];
	size_t count = 0;
	int r;

	r = open_signals(service);
	if (r == 0)
		r = open_settings(service, options, fault);
	if (r == 0)
		r = open_listeners(service, options, listeners, &count, fault);
	if (r == 0)
		r = http_server_prepare(fault);
	if (r < 0)
		return r;
	service_apply_orders(service, &service->settings);
	/* Read files now that are out of reach afterwards. */
	read_token(service, listeners, count);
	check_sockets(service, listeners, count);
	tzset();
	/* Workers load it themselves; its presence tells what they can make. */
	(void)code_instruction_load(NULL);
	service->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	service_incidents_open(&service->incidents);
	service_incidents_configure(&service->incidents, &service->settings.config);
	incident_state_restore(service->incident_state, &service->incidents, clock_monotonic_ns());
	if (service->settings.history[0])
		service_incidents_recall(&service->incidents, service->settings.history);
	log_start(service);
	r = read_attributes(service);
	if (r == 0)
		r = give_up_privileges(service, fault);
	if (r == 0)
		r = open_history(service, fault);
	if (r == 0)
		r = open_spools(service, fault);
	if (r == 0)
		r = sandbox_forbid_engine();
	/* From here on only the broker gives this process new access. */
	if (r == 0)
		r = broker_connect(ENGINE_BROKER_FD, &service->broker);
	if (r == 0)
		r = open_pipeline(service, fault);
	if (r == 0)
		r = open_api(service, listeners, count, fault);
	if (r == 0)
		r = open_push(service);
	if (r == 0)
		r = open_meter(service);
	if (r == 0)
		r = open_polling(service);
	return r;
}
