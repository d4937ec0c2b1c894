/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_session.h"

#include "base/event_source.h"
#include "base/fault.h"
#include "capture/capture.h"
#include "capture/capture_host.h"
#include "capture/counted_event.h"
#include "capture/perf_event_opener.h"
#include "capture/source_support.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void capture_session_done(struct capture_session *session)
{
	capture_host_free(session->host);
	session->host = NULL;
}

void capture_session_new_client(struct capture_session *session)
{
	session->is_held = false;
}

static bool has_value(uint32_t operation)
{
	return operation == PILOTLIGHT_CAPTURE_RING || operation == PILOTLIGHT_CAPTURE_FOLLOW ||
	       operation == PILOTLIGHT_CAPTURE_SET_RATE ||
	       operation == PILOTLIGHT_CAPTURE_TAKE_BLOCKED ||
	       operation == PILOTLIGHT_CAPTURE_SET_RUNTIME ||
	       operation == PILOTLIGHT_CAPTURE_SURVEY;
}

/* The request without the fields that its operation does not use. */
static struct pilotlight_capture_request used_part(const struct pilotlight_capture_request *request)
{
	struct pilotlight_capture_request used;

	memset(&used, 0, sizeof(used));
	used.version = request->version;
	used.operation = request->operation;
	used.number = request->number;
	if (has_value(request->operation))
		used.value = request->value;
	if (request->operation == PILOTLIGHT_CAPTURE_PROBE)
		used.probe = request->probe;
	if (request->operation == PILOTLIGHT_CAPTURE_SET_RUNTIME)
		used.runtime = request->runtime;
	if (request->operation != PILOTLIGHT_CAPTURE_OPEN)
		return used;
	used.map_budget_bytes = request->map_budget_bytes;
	used.unwind_budget_bytes = request->unwind_budget_bytes;
	used.rate_hz = request->rate_hz;
	used.stack_slots = request->stack_slots;
	used.wants_kernel = request->wants_kernel;
	used.filters_processes = request->filters_processes;
	used.event = request->event;
	used.is_sparing = request->is_sparing;
	used.wants_wakers = request->wants_wakers;
	used.skips_interpreted = request->skips_interpreted;
	used.sources = request->sources;
	used.surveyed = request->surveyed;
	memcpy(used.periods, request->periods, sizeof(used.periods));
	memcpy(used.counted, request->counted, sizeof(used.counted));
	return used;
}

int capture_request_check(const struct pilotlight_capture_request *request)
{
	struct pilotlight_capture_request used = used_part(request);

	if (request->version != PILOTLIGHT_CAPTURE_VERSION || request->operation == 0 ||
		request->operation >= PILOTLIGHT_CAPTURE_OPERATIONS)
		return -EBADMSG;
	return memcmp(&used, request, sizeof(used)) == 0 ? 0 : -EBADMSG;
}

static bool has_source(uint32_t sources, size_t source)
{
	return sources & 1U << source;
}

static int check_sources(const struct pilotlight_capture_request *request, struct fault *fault)
{
	const uint32_t waits = 1U << PILOTLIGHT_SOURCE_OFFCPU | 1U << PILOTLIGHT_SOURCE_RUNQUEUE;

	if (request->sources == 0 || request->sources >> PILOTLIGHT_SOURCES ||
		request->surveyed & ~(request->sources & waits) ||
		request->periods[PILOTLIGHT_SOURCE_CPU])
		return fault_set(fault, -EINVAL, "cannot sample: the settings are invalid");
	for (size_t i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		const struct event_source *source = &event_sources[i];
		const bool is_surveyed = has_source(request->surveyed, i);
		const uint64_t least =
			is_surveyed ? PILOTLIGHT_CAPTURE_SURVEY_NS_MIN : source->least_period;
		const uint64_t greatest =
			is_surveyed ? PILOTLIGHT_CAPTURE_SURVEY_NS_MAX : source->greatest_period;
		uint64_t period = request->periods[i];

		if (!has_source(request->sources, i) && period)
			return fault_set(fault, -EINVAL, "cannot sample: the settings are invalid");
		if (has_source(request->sources, i) && (period < least || period > greatest))
			return fault_set(fault, -EINVAL,
				"cannot sample %s with a period of %" PRIu64 " %s: choose %" PRIu64
				" to %" PRIu64,
				source->name, period, source->unit, least, greatest);
	}
	return 0;
}

/* A source that is on has an event, and no other has. */
static int check_counted(const struct pilotlight_capture_request *request, struct fault *fault)
{
	for (size_t i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++) {
		const struct pilotlight_counted_event *event = &request->counted[i];

		if (!counted_event_is_valid(event) ||
			(event->kind != PILOTLIGHT_COUNTED_NONE) !=
				has_source(request->sources, PILOTLIGHT_SOURCE_COUNTED + i))
			return fault_set(fault, -EINVAL, "cannot sample: the settings are invalid");
	}
	return 0;
}

static int settings_of(const struct pilotlight_capture_request *request,
	struct capture_settings *ret_settings, struct fault *fault)
{
	int r;

	if (request->rate_hz == 0 || request->rate_hz > PILOTLIGHT_CAPTURE_RATE_HZ_MAX)
		return fault_set(fault, -EINVAL,
			"cannot sample at %u Hz: choose a rate of 1 to %d Hz", request->rate_hz,
			PILOTLIGHT_CAPTURE_RATE_HZ_MAX);
	if (request->map_budget_bytes > PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX ||
		request->unwind_budget_bytes > PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX)
		return fault_set(fault, -EINVAL,
			"cannot give the BPF maps more than 1 GiB of memory: lower the budget");
	if (request->stack_slots > PILOTLIGHT_CAPTURE_STACK_SLOTS_MAX ||
		request->wants_kernel > 1 || request->filters_processes > 1 ||
		request->is_sparing > 1 || request->wants_wakers > 1 ||
		request->skips_interpreted > 1 || request->event > CAPTURE_EVENT_CLOCK)
		return fault_set(fault, -EINVAL, "cannot sample: the settings are invalid");
	r = check_sources(request, fault);
	if (r == 0)
		r = check_counted(request, fault);
	if (r < 0)
		return r;
	*ret_settings = (struct capture_settings){
		.rate_hz = request->rate_hz,
		.event = (enum capture_event)request->event,
		.wants_kernel = request->wants_kernel,
		.filters_processes = request->filters_processes,
		.is_sparing = request->is_sparing,
		.wants_wakers = request->wants_wakers,
		.skips_interpreted = request->skips_interpreted,
		.map_budget_bytes = request->map_budget_bytes,
		.stack_slots = request->stack_slots,
		.unwind_budget_bytes = request->unwind_budget_bytes,
		.sources = request->sources,
		.surveyed = request->surveyed,
	};
	memcpy(ret_settings->periods, request->periods, sizeof(ret_settings->periods));
	memcpy(ret_settings->counted, request->counted, sizeof(ret_settings->counted));
	return 0;
}

/* The shortest period that the limits allow for a source; 0: it is not allowed. */
static uint64_t least_period(const struct capture_limits *limits,
	const struct capture_settings *settings, enum pilotlight_source source)
{
	const struct pilotlight_counted_event *event;
	uint64_t least = 0;

	if (has_source(settings->surveyed & limits->surveyed, source))
		return limits->survey_ns;
	if (!event_source_is_counted(source))
		return has_source(limits->sources, source) ? limits->least_periods[source] : 0;
	event = &settings->counted[source - PILOTLIGHT_SOURCE_COUNTED];
	for (size_t i = 0; i < limits->counted_count; i++) {
		const struct counted_limit *limit = &limits->counted[i];

		if (memcmp(&limit->event, event, sizeof(*event)) == 0 &&
			(least == 0 || limit->least_period < least))
			least = limit->least_period;
	}
	return least;
}

static int check_source_limits(const struct capture_limits *limits,
	const struct capture_settings *settings, struct fault *fault)
{
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (has_source(settings->sources, i) &&
			(least_period(limits, settings, i) == 0 ||
				settings->periods[i] < least_period(limits, settings, i)))
			return fault_set(fault, -EPERM,
				"cannot sample what the configuration does not allow, nor more "
				"often than it allows");
	return 0;
}

/* Only the service's engine is limited, and it never forces a number of stack slots. */
static int check_limits(const struct capture_session *session,
	const struct capture_settings *settings, struct fault *fault)
{
	const struct capture_limits *limits = &session->limits;

	if (!session->is_limited)
		return 0;
	if (settings->rate_hz > limits->rate_hz)
		return fault_set(fault, -EPERM,
			"cannot sample at %u Hz: the configuration allows %u Hz", settings->rate_hz,
			limits->rate_hz);
	if (settings->map_budget_bytes > limits->map_bytes ||
		settings->unwind_budget_bytes > limits->map_bytes || settings->stack_slots)
		return fault_set(fault, -EPERM,
			"cannot give the BPF maps more memory than the configuration allows");
	if (settings->event != limits->event || (settings->wants_kernel && !limits->allows_kernel))
		return fault_set(fault, -EPERM,
			"cannot sample by another event than the configured one, nor the kernel "
			"unless it is configured");
	if (settings->wants_wakers)
		return fault_set(
			fault, -EPERM, "cannot sample who wakes threads: only a recording does");
	return check_source_limits(limits, settings, fault);
}

static bool has_choice(const struct capture_session *session)
{
	return cgroup_choice_equals(&session->choice, capture_host_settings(session->host)->choice);
}

/* Without the rate: the host can be slowed down. */
static int check_host(const struct capture_session *session, struct fault *fault)
{
	struct capture_settings settings = *capture_host_settings(session->host);

	if (!has_choice(session))
		return fault_set(fault, -EPERM,
			"cannot record other cgroups than the configuration chooses");
	settings.rate_hz = 0;
	return check_limits(session, &settings, fault);
}

static void slow_down(struct capture_session *session)
{
	struct pilotlight_capture_state state;

	capture_host_read_state(session->host, &state);
	if (state.rate_hz <= session->limits.rate_hz ||
		capture_host_set_rate(session->host, session->limits.rate_hz) == 0)
		return;
	/* Without events nothing refuses the rate, with which it starts again. */
	capture_host_stop(session->host);
	(void)capture_host_set_rate(session->host, session->limits.rate_hz);
}

void capture_session_limit(struct capture_session *session, const struct capture_limits *limits)
{
	struct fault fault = { 0 };

	session->is_limited = true;
	session->limits = *limits;
	capture_session_choose(session, &limits->choice);
	if (!session->host)
		return;
	if (check_host(session, &fault) < 0)
		capture_host_stop(session->host);
	else
		slow_down(session);
}

void capture_session_choose(struct capture_session *session, const struct cgroup_choice *choice)
{
	session->choice = *choice;
	if (session->host && !has_choice(session))
		capture_host_stop(session->host);
}

/* Drops the host and its maps; their undrained counts are added to left_behind. */
static int drop_host(struct capture_session *session, struct fault *fault)
{
	int r;

	if (!session->host)
		return 0;
	capture_host_stop(session->host);
	r = capture_host_add_counters(session->host, session->left_behind);
	if (r < 0)
		return fault_set(fault, r,
			"cannot count the samples of the BPF maps before dropping them: %s",
			strerror(-r));
	capture_session_done(session);
	return 0;
}

static bool has_settings(const struct capture_host *host, const struct capture_settings *settings)
{
	const struct capture_settings *own = capture_host_settings(host);

	return own->rate_hz == settings->rate_hz && own->event == settings->event &&
	       own->wants_kernel == settings->wants_kernel &&
	       own->filters_processes == settings->filters_processes &&
	       own->is_sparing == settings->is_sparing &&
	       own->wants_wakers == settings->wants_wakers &&
	       own->skips_interpreted == settings->skips_interpreted &&
	       own->map_budget_bytes == settings->map_budget_bytes &&
	       own->stack_slots == settings->stack_slots &&
	       own->unwind_budget_bytes == settings->unwind_budget_bytes &&
	       own->sources == settings->sources && own->surveyed == settings->surveyed &&
	       cgroup_choice_equals(own->choice, settings->choice) &&
	       memcmp(own->periods, settings->periods, sizeof(own->periods)) == 0 &&
	       memcmp(own->counted, settings->counted, sizeof(own->counted)) == 0;
}

static int set_probes(const struct capture_session *session, struct capture_settings *settings,
	struct fault *fault)
{
	for (size_t i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++)
		if (settings->counted[i].kind == PILOTLIGHT_COUNTED_PROBE &&
			(!session->grant.probes || session->grant.probes[i].count == 0))
			return fault_set(fault, -EINVAL, "cannot sample: the settings are invalid");
	settings->probes = session->grant.probes;
	return 0;
}

static uint32_t heaps_of(uint32_t sources)
{
	return sources & (1U << PILOTLIGHT_SOURCE_HEAP_ALLOC | 1U << PILOTLIGHT_SOURCE_HEAP_LIVE);
}

static int check_grant(const struct capture_session *session,
	const struct capture_settings *settings, struct fault *fault)
{
	if (session->is_own || (heaps_of(settings->sources) & ~session->grant.sources) == 0)
		return 0;
	return fault_set(
		fault, -EPERM, "cannot sample the memory of programs: the user did not ask for it");
}

/* The kernel stays as it is. But a tracepoint comes with its module, or with tracefs. */
static void look_for_missing(
	struct capture_session *session, const struct capture_settings *settings)
{
	struct perf_event_opener opener;

	perf_event_opener_init(&opener, session->event_service);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		const struct pilotlight_counted_event *event = NULL;

		session->missing[i][0] = event_source_is_counted(i) ? '\0' : session->missing[i][0];
		if (event_source_is_counted(i))
			event = &settings->counted[i - PILOTLIGHT_SOURCE_COUNTED];
		if (event ? has_source(settings->sources, i)
			  : !session->has_looked || event_source_is_of_wall(i))
			(void)source_support_read(i, has_source(settings->surveyed, i), event,
				&opener, session->missing[i]);
	}
	session->has_looked = true;
	perf_event_opener_done(&opener);
}

/* The service goes on without what the machine lacks. A user of `record` gets an error. */
static void leave_out_missing(struct capture_session *session, struct capture_settings *settings)
{
	if (!session->is_limited)
		return;
	look_for_missing(session, settings);
	for (enum pilotlight_source i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		if (!has_source(settings->sources, i) || !session->missing[i][0])
			continue;
		settings->sources &= ~(1U << i);
		settings->surveyed &= ~(1U << i);
		settings->periods[i] = 0;
		if (event_source_is_counted(i))
			settings->counted[i - PILOTLIGHT_SOURCE_COUNTED] =
				(struct pilotlight_counted_event){
					.kind = PILOTLIGHT_COUNTED_NONE
				};
	}
}

/* The old host is dropped first, because memory is budgeted for one. */
static int open_host(struct capture_session *session,
	const struct pilotlight_capture_request *request, bool *ret_is_taken_over,
	struct fault *fault)
{
	struct capture_settings settings;
	int r = settings_of(request, &settings, fault);

	settings.choice = &session->choice;
	if (r == 0)
		r = set_probes(session, &settings, fault);
	if (r == 0)
		r = check_limits(session, &settings, fault);
	if (r == 0)
		r = check_grant(session, &settings, fault);
	if (r < 0)
		return r;
	settings.is_sparing |= session->is_limited;
	leave_out_missing(session, &settings);
	if (session->host && has_settings(session->host, &settings)) {
		*ret_is_taken_over = session->is_held = true;
		capture_host_new_engine(session->host);
		return 0;
	}
	if (session->host && session->is_held)
		return fault_set(fault, -EBUSY,
			"cannot sample with other settings: close the running capture first");
	r = drop_host(session, fault);
	if (r == 0)
		r = capture_host_open(&settings, session->event_service, &session->host, fault);
	session->is_held = r == 0;
	return r;
}

/* May its heap be sampled, for which it gets breakpoints? */
static bool grants_heap_of(const struct capture_session *session, pid_t pid)
{
	const struct capture_grant *grant = &session->grant;

	for (size_t i = 0; i < grant->pid_count; i++)
		if (grant->pids[i] == pid)
			return true;
	return session->is_own || grant->command == pid;
}

static int follow(struct capture_session *session, uint64_t pid)
{
	if (pid == 0 || pid > INT32_MAX)
		return -EINVAL;
	if (heaps_of(capture_host_settings(session->host)->sources) &&
		!grants_heap_of(session, (pid_t)pid))
		return -EPERM;
	return capture_host_follow(session->host, (pid_t)pid);
}

static int set_rate(struct capture_session *session, uint64_t rate_hz)
{
	if (rate_hz == 0 || rate_hz > PILOTLIGHT_CAPTURE_RATE_HZ_MAX)
		return -EINVAL;
	if (session->is_limited && rate_hz > session->limits.rate_hz)
		return -EPERM;
	return capture_host_set_rate(session->host, (uint32_t)rate_hz);
}

static int start(struct capture_session *session, struct fault *fault)
{
	struct pilotlight_capture_state state;
	int r = check_host(session, fault);

	capture_host_read_state(session->host, &state);
	if (r == 0 && session->is_limited && state.rate_hz > session->limits.rate_hz)
		r = fault_set(fault, -EPERM,
			"cannot sample at %u Hz: the configuration allows %u Hz", state.rate_hz,
			session->limits.rate_hz);
	if (r == 0)
		r = capture_host_start(session->host, fault);
	if (r == 0 && session->is_held)
		memset(session->left_behind, 0, sizeof(session->left_behind));
	return r;
}

/* Operations that need an open host. */
static int execute(struct capture_session *session,
	const struct pilotlight_capture_request *request, struct fault *fault)
{
	struct capture_host *host = session->host;

	switch ((enum pilotlight_capture_operation)request->operation) {
	case PILOTLIGHT_CAPTURE_RING:
		return request->value < sideband_rings_count(capture_host_rings(host)) ? 0
										       : -ENOENT;
	case PILOTLIGHT_CAPTURE_START:
		return start(session, fault);
	case PILOTLIGHT_CAPTURE_STOP:
		capture_host_stop(host);
		return 0;
	case PILOTLIGHT_CAPTURE_FOLLOW:
		return follow(session, request->value);
	case PILOTLIGHT_CAPTURE_FOLLOW_CPUS:
		return capture_host_follow_cpus(host);
	case PILOTLIGHT_CAPTURE_SET_RATE:
		return set_rate(session, request->value);
	case PILOTLIGHT_CAPTURE_STATE:
		capture_host_weigh(host);
		return 0;
	case PILOTLIGHT_CAPTURE_CLOSE:
		return drop_host(session, fault);
	case PILOTLIGHT_CAPTURE_LIST_FILES:
		return capture_host_list_files(host);
	case PILOTLIGHT_CAPTURE_TAKE_BLOCKED:
		return request->value == 0 ? -EINVAL
					   : capture_host_take_blocked(host, request->value);
	case PILOTLIGHT_CAPTURE_SURVEY:
		if (request->value == 0 || request->value > PILOTLIGHT_CAPTURE_SURVEY_PERIODS_MAX)
			return -EINVAL;
		return capture_host_survey(host, (uint32_t)request->value);
	case PILOTLIGHT_CAPTURE_PROBE:
		return capture_host_set_probe(host, &request->probe);
	case PILOTLIGHT_CAPTURE_SET_RUNTIME:
		return capture_host_set_runtime(host, request->value, &request->runtime);
	case PILOTLIGHT_CAPTURE_OPEN:
	case PILOTLIGHT_CAPTURE_OPERATIONS:
		break;
	}
	return -EBADMSG;
}

static size_t fill_ring(const struct capture_host *host, uint64_t index,
	struct pilotlight_capture_layout *layout, int fds[PILOTLIGHT_CAPTURE_FDS])
{
	struct sideband_ring ring = sideband_rings_get(capture_host_rings(host), (size_t)index);

	layout->ring_cpu = ring.cpu;
	layout->ring_id = ring.id;
	fds[0] = ring.fd;
	return 1;
}

static size_t fill_layout(const struct capture_host *host, bool is_taken_over,
	struct pilotlight_capture_layout *layout, int fds[PILOTLIGHT_CAPTURE_FDS])
{
	size_t count = capture_host_fd_count(host);

	capture_host_layout(host, layout);
	layout->is_taken_over = is_taken_over;
	for (size_t i = 0; i < count; i++)
		fds[i] = capture_host_fd(host, i);
	return count;
}

/* Fills in the answer of a successful operation. */
static size_t fill_answer(struct capture_session *session,
	const struct pilotlight_capture_request *request, bool is_taken_over,
	struct pilotlight_capture_answer *answer, int fds[PILOTLIGHT_CAPTURE_FDS])
{
	struct capture_host *host = session->host;

	if (request->operation == PILOTLIGHT_CAPTURE_CLOSE ||
		request->operation == PILOTLIGHT_CAPTURE_FOLLOW ||
		request->operation == PILOTLIGHT_CAPTURE_LIST_FILES ||
		request->operation == PILOTLIGHT_CAPTURE_TAKE_BLOCKED ||
		request->operation == PILOTLIGHT_CAPTURE_PROBE ||
		request->operation == PILOTLIGHT_CAPTURE_SET_RUNTIME)
		return 0;
	if (request->operation == PILOTLIGHT_CAPTURE_SURVEY) {
		answer->result = capture_host_surveyed_us(host);
		return 0;
	}
	if (request->operation == PILOTLIGHT_CAPTURE_RING)
		return fill_ring(host, request->value, &answer->layout, fds);
	capture_host_read_state(host, &answer->state);
	if (request->operation == PILOTLIGHT_CAPTURE_FOLLOW_CPUS)
		answer->result = (int32_t)answer->state.cpu_count;
	if (request->operation != PILOTLIGHT_CAPTURE_OPEN)
		return 0;
	memcpy(answer->left_behind, session->left_behind, sizeof(answer->left_behind));
	memcpy(answer->missing, session->missing, sizeof(answer->missing));
	return fill_layout(host, is_taken_over, &answer->layout, fds);
}

size_t capture_session_execute(struct capture_session *session,
	const struct pilotlight_capture_request *request, struct pilotlight_capture_answer *answer,
	int fds[PILOTLIGHT_CAPTURE_FDS])
{
	struct fault fault = { 0 };
	bool is_taken_over = false;
	int r;

	memset(answer, 0, sizeof(*answer));
	answer->version = PILOTLIGHT_CAPTURE_VERSION;
	answer->number = request->number;
	if (request->operation == PILOTLIGHT_CAPTURE_OPEN)
		r = open_host(session, request, &is_taken_over, &fault);
	else if (session->host)
		r = execute(session, request, &fault);
	else
		r = -ENXIO;
	answer->result = r;
	if (r == 0)
		return fill_answer(session, request, is_taken_over, answer, fds);
	(void)snprintf(answer->fault, sizeof(answer->fault), "%s", fault.text);
	return 0;
}
