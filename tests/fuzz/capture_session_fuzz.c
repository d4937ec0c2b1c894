/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions of engines with the privileged half of capture, one after the other: each step of eight
 * bytes sends a request, perhaps malformed, replaces the engine, changes the limits, or makes the
 * kernel fail. The host of programs and maps is made up here (capture_host.h), and counts its
 * samples. Every message gets one answer, with descriptors only where the protocol has them. There
 * is one host at a time; none exceeds the limits at its opening. Counts of dropped hosts reach an
 * engine that has started, each once.
 */
#include "base/array.h"
#include "base/event_source.h"
#include "broker/broker_socket.h"
#include "capture/capture.h"
#include "capture/capture_host.h"
#include "capture/capture_server.h"
#include "capture/capture_session.h"
#include "capture/source_support.h"
#include "pilotlight/capture_message.h"
#include "pilotlight/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { STEP_BYTES = 8, STEPS_MAX = 64, RINGS = 3 };

#define PICK(list, number) ((list)[(number) % ARRAY_SIZE(list)])

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* --- a host without a kernel ------------------------------------------------------------------ */

struct capture_host {
	struct capture_settings settings;
	uint32_t rate_hz;
	bool is_started;
	uint64_t fired; /* undrained */
};

/* The machine, which outlives the hosts. */
static struct machine {
	struct capture_host *host; /* NULL: nothing is open */
	int fd;			   /* stands for every map and ring */
	bool is_limited;
	struct capture_limits limits;
	bool fails_open, fails_start, fails_counters, fails_rate;
	uint32_t lacks;	      /* sources, when the first limited engine asks */
	uint64_t left_behind; /* of hosts that were dropped; no engine has taken them */
} machine;

int capture_host_open(const struct capture_settings *settings, const char *event_service,
	struct capture_host **ret_host, struct fault *fault)
{
	struct capture_host *host;

	require(!event_service && !machine.host && settings->rate_hz > 0 &&
		settings->rate_hz <= PILOTLIGHT_CAPTURE_RATE_HZ_MAX &&
		settings->map_budget_bytes <= PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX &&
		settings->stack_slots <= PILOTLIGHT_CAPTURE_STACK_SLOTS_MAX);
	require(!machine.is_limited ||
		(settings->rate_hz <= machine.limits.rate_hz && !settings->stack_slots &&
			settings->map_budget_bytes <= machine.limits.map_bytes &&
			settings->unwind_budget_bytes <= machine.limits.map_bytes &&
			settings->event == machine.limits.event &&
			(machine.limits.allows_kernel || !settings->wants_kernel)));
	for (int i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++) {
		require(settings->sources & 1U << i
				? settings->periods[i] >= event_sources[i].least_period &&
					  settings->periods[i] <= event_sources[i].greatest_period
				: settings->periods[i] == 0);
		require(!machine.is_limited || !(settings->sources & 1U << i) ||
			(machine.limits.sources & 1U << i &&
				settings->periods[i] >= machine.limits.least_periods[i]));
	}
	if (machine.fails_open)
		return fault_set(fault, -ENOMEM, "the kernel refuses");
	host = calloc(1, sizeof(*host));
	require(host);
	host->settings = *settings;
	host->rate_hz = settings->rate_hz;
	machine.host = *ret_host = host;
	return 0;
}

int source_support_read(enum pilotlight_source source, bool is_surveyed,
	const struct pilotlight_counted_event *event, struct perf_event_opener *opener,
	char ret_missing[PILOTLIGHT_MISSING_BYTES])
{
	require(machine.is_limited && !event == !event_source_is_counted(source));
	(void)opener;
	(void)is_surveyed;
	(void)strcpy(ret_missing, machine.lacks & 1U << source ? "the kernel lacks it" : "");
	return 0;
}

void capture_host_free(struct capture_host *host)
{
	if (!host)
		return;
	machine.host = NULL;
	machine.left_behind += host->fired;
	free(host);
}

const struct capture_settings *capture_host_settings(const struct capture_host *host)
{
	return &host->settings;
}

void capture_host_layout(
	const struct capture_host *host, struct pilotlight_capture_layout *ret_layout)
{
	*ret_layout = (struct pilotlight_capture_layout){ .sized_cpus = 1,
		.has_walks = host->settings.unwind_budget_bytes > 0 };
}

size_t capture_host_fd_count(const struct capture_host *host)
{
	return host->settings.unwind_budget_bytes > 0
		       ? (size_t)PILOTLIGHT_CAPTURE_FDS
		       : (size_t)PILOTLIGHT_CAPTURE_FDS_WITHOUT_WALKS;
}

int capture_host_fd(const struct capture_host *host, size_t index)
{
	require(index < capture_host_fd_count(host));
	return machine.fd;
}

const struct sideband_rings *capture_host_rings(const struct capture_host *host)
{
	return (const struct sideband_rings *)host;
}

size_t sideband_rings_count(const struct sideband_rings *rings)
{
	require(rings);
	return RINGS;
}

struct sideband_ring sideband_rings_get(const struct sideband_rings *rings, size_t index)
{
	require(rings && index < RINGS);
	return (struct sideband_ring){ .cpu = (uint32_t)index, .id = index + 1, .fd = machine.fd };
}

int capture_host_start(struct capture_host *host, struct fault *fault)
{
	require(!machine.is_limited ||
		(host->rate_hz <= machine.limits.rate_hz &&
			host->settings.map_budget_bytes <= machine.limits.map_bytes &&
			host->settings.event == machine.limits.event));
	if (machine.fails_start)
		return fault_set(fault, -EMFILE, "the kernel refuses");
	host->is_started = true;
	return 0;
}

void capture_host_stop(struct capture_host *host)
{
	host->is_started = false;
}

int capture_host_follow(struct capture_host *host, pid_t pid)
{
	require(host && pid > 0);
	return pid == 1 ? -ESRCH : 0;
}

int capture_host_follow_cpus(struct capture_host *host)
{
	require(host);
	return 0;
}

int capture_host_list_files(struct capture_host *host)
{
	require(host);
	return 0;
}

int capture_host_take_blocked(struct capture_host *host, uint64_t before_ns)
{
	require(before_ns > 0);
	return host->settings.sources & 1U << PILOTLIGHT_SOURCE_OFFCPU ? 0 : -EOPNOTSUPP;
}

int capture_host_survey(struct capture_host *host, uint32_t periods)
{
	require(periods > 0 && periods <= PILOTLIGHT_CAPTURE_SURVEY_PERIODS_MAX);
	return host->settings.surveyed ? 0 : -EOPNOTSUPP;
}

int32_t capture_host_surveyed_us(const struct capture_host *host)
{
	require(host->settings.surveyed);
	return 1;
}

int capture_host_set_probe(struct capture_host *host, const struct pilotlight_capture_probe *probe)
{
	require(host && probe);
	return -EPERM;
}

int capture_host_set_runtime(
	struct capture_host *host, uint64_t number, const struct pilotlight_runtime *runtime)
{
	require(host && runtime);
	return number < PILOTLIGHT_RUNTIMES_MAX ? 0 : -EINVAL;
}

void capture_host_new_engine(struct capture_host *host)
{
	require(host);
}

int capture_host_set_rate(struct capture_host *host, uint32_t rate_hz)
{
	require(!machine.is_limited || rate_hz <= machine.limits.rate_hz);
	if (rate_hz == 0 || rate_hz > host->settings.rate_hz)
		return -ERANGE;
	/* Only an event that is open can be refused. */
	if (machine.fails_rate && host->is_started)
		return -EINVAL;
	host->rate_hz = rate_hz;
	return 0;
}

void capture_host_read_state(struct capture_host *host, struct pilotlight_capture_state *ret_state)
{
	*ret_state = (struct pilotlight_capture_state){ .cpu_count = 1, .rate_hz = host->rate_hz };
}

void capture_host_weigh(struct capture_host *host)
{
	require(host);
}

int capture_host_add_counters(
	const struct capture_host *host, struct pilotlight_counters sums[PILOTLIGHT_SOURCES])
{
	if (machine.fails_counters)
		return -ENOMEM;
	/* Otherwise samples could fire after they were counted. */
	require(!host->is_started);
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++)
		sums[i].fired += host->fired;
	return 0;
}

/* --- the model -------------------------------------------------------------------------------- */

struct engines {
	struct capture_server *server;
	int fd; /* of the present engine; -1: it has closed its end */
	uint64_t requests;
	uint64_t told; /* of left_behind, since the present engine's last START */
	bool is_held;
};

static bool carries_fds(const struct pilotlight_capture_request *request)
{
	return request->operation == PILOTLIGHT_CAPTURE_OPEN ||
	       request->operation == PILOTLIGHT_CAPTURE_RING;
}

static size_t expected_fds(const struct pilotlight_capture_request *request)
{
	if (request->operation == PILOTLIGHT_CAPTURE_RING)
		return 1;
	return request->unwind_budget_bytes > 0 ? (size_t)PILOTLIGHT_CAPTURE_FDS
						: (size_t)PILOTLIGHT_CAPTURE_FDS_WITHOUT_WALKS;
}

static void connect_engine(struct engines *engines)
{
	int pair[2];

	if (engines->fd >= 0)
		require(close(engines->fd) == 0);
	require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	require(capture_server_connect(engines->server, pair[1]) == 0);
	engines->fd = pair[0];
	engines->is_held = false;
	engines->told = 0;
}

static void set_limits(struct engines *engines, const uint8_t *step)
{
	const struct capture_limits limits = {
		.rate_hz = step[1],
		.map_bytes = (size_t)step[2] << 12,
		.event = step[3] % 3,
		.allows_kernel = step[4] & 1,
		.sources = step[5] & 7,
		.least_periods = { [PILOTLIGHT_SOURCE_OFFCPU] = step[6] * 1000ULL,
			[PILOTLIGHT_SOURCE_RUNQUEUE] = step[7] * 1000ULL },
	};

	machine.is_limited = true;
	machine.limits = limits;
	capture_server_limit(engines->server, &limits);
}

/* The kernel fails from now on, and the sampler samples. */
static void set_faults(const uint8_t *step)
{
	if (machine.host && machine.host->is_started)
		machine.host->fired += step[2];
	machine.fails_open = step[1] & 1;
	machine.fails_start = step[1] & 2;
	machine.fails_counters = step[1] & 4;
	machine.fails_rate = step[1] & 8;
	machine.lacks = step[3];
}

/* --- requests --------------------------------------------------------------------------------- */

static struct pilotlight_capture_request request_of(const uint8_t *step)
{
	static const uint32_t rates[] = { 99, 7, 0, 997, PILOTLIGHT_CAPTURE_RATE_HZ_MAX,
		PILOTLIGHT_CAPTURE_RATE_HZ_MAX + 1, UINT32_MAX };
	static const uint64_t values[] = { 0, 1, 2, RINGS, 99, INT32_MAX, UINT32_MAX, UINT64_MAX };
	static const uint64_t budgets[] = { 0, 4096, 1 << 20, PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX,
		PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX + 1ULL, UINT64_MAX };
	static const uint64_t periods[] = { 1000000, 1000, 999, 200000, 1000000000, 1000000001 };
	struct pilotlight_capture_request request = {
		.version = PILOTLIGHT_CAPTURE_VERSION,
		.operation = step[1] % (PILOTLIGHT_CAPTURE_OPERATIONS + 1),
		.value = PICK(values, step[2]),
	};

	if (request.operation != PILOTLIGHT_CAPTURE_OPEN)
		return request;
	request.value = 0;
	request.rate_hz = PICK(rates, step[2]);
	request.map_budget_bytes = PICK(budgets, step[3]);
	request.unwind_budget_bytes = PICK(budgets, step[4]);
	request.stack_slots = step[5] > 250 ? step[5] << 10 : step[5] & 1;
	request.wants_kernel = step[6] & 3;
	request.filters_processes = step[6] >> 2 & 3;
	request.event = step[6] >> 4 & 3;
	/* The older cases of the corpus end with 0. */
	request.sources = step[7] ? step[7] & 15 : 1 << PILOTLIGHT_SOURCE_CPU;
	for (int i = 0; i < PILOTLIGHT_SOURCES; i++)
		if (step[7] >> 4 && request.sources & 1U << i && i != PILOTLIGHT_SOURCE_CPU)
			request.periods[i] = PICK(periods, step[7] >> 4);
	return request;
}

/* Others use no value, so these set it to zero. */
static void clear_unused(struct pilotlight_capture_request *request)
{
	if (request->operation != PILOTLIGHT_CAPTURE_RING &&
		request->operation != PILOTLIGHT_CAPTURE_FOLLOW &&
		request->operation != PILOTLIGHT_CAPTURE_SET_RATE &&
		request->operation != PILOTLIGHT_CAPTURE_TAKE_BLOCKED)
		request->value = 0;
}

static void follow_open(struct engines *engines, const struct pilotlight_capture_answer *answer)
{
	if (answer->result == 0) {
		for (int i = 0; i < PILOTLIGHT_SOURCES; i++)
			require(answer->left_behind[i].fired == machine.left_behind);
		require(machine.host);
		engines->told = machine.left_behind;
		engines->is_held = true;
	} else if (answer->result != -EINVAL && answer->result != -EPERM &&
		   answer->result != -EBUSY) {
		engines->is_held = false;
	}
}

static void follow_answer(struct engines *engines, const struct pilotlight_capture_request *request,
	const struct pilotlight_capture_answer *answer)
{
	if (request->operation == PILOTLIGHT_CAPTURE_OPEN) {
		follow_open(engines, answer);
	} else if (request->operation == PILOTLIGHT_CAPTURE_START && answer->result == 0 &&
		   engines->is_held) {
		require(engines->told == machine.left_behind);
		engines->told = machine.left_behind = 0;
	} else if (request->operation == PILOTLIGHT_CAPTURE_CLOSE && answer->result == 0) {
		require(!machine.host);
	}
}

static void check_answer(const struct pilotlight_capture_request *request,
	const struct pilotlight_capture_answer *answer, size_t fds)
{
	require(answer->version == PILOTLIGHT_CAPTURE_VERSION);
	require(memchr(answer->fault, '\0', sizeof(answer->fault)));
	if (answer->result < 0)
		require(fds == 0 && answer->layout.sized_cpus == 0 && answer->state.cpu_count == 0);
	else
		require(*answer->fault == '\0' &&
			fds == (carries_fds(request) ? expected_fds(request) : 0));
}

static void ask(struct engines *engines, const uint8_t *step)
{
	struct pilotlight_capture_request request = request_of(step);
	struct pilotlight_capture_answer answer;
	struct broker_message message;
	size_t size = sizeof(request);
	const bool has_fd = step[0] & 0x10, is_short = step[0] & 0x20, is_dirty = step[0] & 0x40;
	const bool was_open = machine.host;
	bool is_well_formed;

	if (engines->fd < 0)
		return;
	if (!(step[0] & 0x80))
		clear_unused(&request);
	request.number = ++engines->requests;
	request.version += is_dirty;
	if (is_short)
		size = 1 + step[7] % (sizeof(request) - 1);
	require(broker_socket_send(engines->fd, &request, size, &machine.fd, has_fd) == 0);
	require(capture_server_run(engines->server) == 0);
	require(broker_socket_receive(engines->fd, &answer, sizeof(answer), BROKER_SOCKET_FDS_MAX,
			&message) == 0);
	require(message.size == sizeof(answer) && !message.has_lost_fds);
	require(answer.number == (is_short ? 0 : request.number));
	check_answer(&request, &answer, message.fd_count);
	is_well_formed = !has_fd && !is_short && capture_request_check(&request) == 0;
	require(is_well_formed || answer.result == -EBADMSG);
	if (is_well_formed && request.operation != PILOTLIGHT_CAPTURE_OPEN)
		require((answer.result == -ENXIO) == !was_open);
	if (is_well_formed)
		follow_answer(engines, &request, &answer);
	broker_message_close(&message);
	require(broker_socket_receive(engines->fd, &answer, sizeof(answer), 0, &message) ==
		-EAGAIN);
}

/* The engine ends, perhaps with bytes that nobody answers. */
static void hang_up(struct engines *engines, const uint8_t *step)
{
	if (engines->fd < 0)
		return;
	if (step[1] & 1)
		require(broker_socket_send(engines->fd, step, 1, NULL, 0) == 0);
	require(close(engines->fd) == 0);
	engines->fd = -1;
	require(capture_server_run(engines->server) == -EPIPE);
	require(capture_server_run(engines->server) == 0);
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && close(fd) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const int descriptor = next_descriptor();
	struct engines engines = { .fd = -1 };

	if (size > STEP_BYTES * STEPS_MAX)
		return 0;
	machine = (struct machine){ .fd = open("/dev/null", O_RDONLY | O_CLOEXEC) };
	require(machine.fd >= 0 && capture_server_new(NULL, &engines.server) == 0);
	connect_engine(&engines);
	for (; size >= STEP_BYTES; size -= STEP_BYTES, bytes += STEP_BYTES)
		switch (bytes[0] & 15) {
		case 0:
			connect_engine(&engines);
			break;
		case 1:
			set_limits(&engines, bytes);
			break;
		case 2:
			set_faults(bytes);
			break;
		case 3:
			hang_up(&engines, bytes);
			break;
		default:
			ask(&engines, bytes);
		}
	if (engines.fd >= 0)
		require(close(engines.fd) == 0);
	capture_server_free(engines.server);
	require(!machine.host && close(machine.fd) == 0);
	require(next_descriptor() == descriptor);
	return 0;
}
