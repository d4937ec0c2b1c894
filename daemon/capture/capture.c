/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unprivileged side of capture. It sends requests to the host and caches the state of the last
 * answer.
 */
#include "capture/capture.h"

#include "capture/capture_link.h"
#include "capture/cpu_list.h"
#include "capture/libbpf_log.h"
#include "capture/sideband_rings.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct capture {
	struct capture_link *link;	 /* to the host */
	int fds[PILOTLIGHT_CAPTURE_FDS]; /* by enum pilotlight_capture_fd */
	size_t fd_count;
	struct pilotlight_capture_layout layout;
	struct pilotlight_capture_state state; /* of the last answer */
	struct pilotlight_counters left_behind[PILOTLIGHT_SOURCES];
	char missing[PILOTLIGHT_SOURCES][PILOTLIGHT_MISSING_BYTES];
	void *variables;
	struct capture_maps maps;
	struct walk_maps walk_maps;
	struct sideband *sideband;
	uint64_t rings_generation;
	bool has_rings; /* the rings of rings_generation are open */
};

/* Sends a request whose answer carries no descriptors. */
static int ask(const struct capture *capture, enum pilotlight_capture_operation operation,
	uint64_t value, struct pilotlight_capture_answer *ret_answer)
{
	struct pilotlight_capture_request request = { .operation = operation, .value = value };
	int fds[PILOTLIGHT_CAPTURE_FDS];
	size_t count = 0;
	int r = capture_link_ask(capture->link, &request, ret_answer, fds, &count);

	capture_link_close_fds(fds, count);
	return count == 0 ? r : -EBADMSG;
}

/* The same for an operation whose answer carries the state. */
static int ask_state(
	struct capture *capture, enum pilotlight_capture_operation operation, uint64_t value)
{
	struct pilotlight_capture_answer answer;
	int r = ask(capture, operation, value, &answer);

	if (r >= 0)
		capture->state = answer.state;
	return r;
}

static int fault_of_link(const struct capture *capture, int error, struct fault *fault)
{
	return fault_set(fault, error, "cannot sample%s: %s",
		capture_link_is_here(capture->link) ? "" : ": no answer from the broker",
		strerror(-error));
}

static uint64_t bounded(uint64_t bytes)
{
	return bytes < PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX ? bytes
							   : PILOTLIGHT_CAPTURE_BUDGET_BYTES_MAX;
}

/* An inconsistent answer can only come from a broker of another version. */
static int check_layout(const struct capture *capture)
{
	const struct pilotlight_capture_layout *layout = &capture->layout;
	size_t count =
		layout->has_walks ? PILOTLIGHT_CAPTURE_FDS : PILOTLIGHT_CAPTURE_FDS_WITHOUT_WALKS;

	if (capture->fd_count != count ||
		layout->variables_bytes < sizeof(*capture->maps.active_window) ||
		layout->active_window_offset >
			layout->variables_bytes - sizeof(*capture->maps.active_window) ||
		layout->active_window_offset % sizeof(*capture->maps.active_window) != 0)
		return -EBADMSG;
	return 0;
}

static int open_host(
	struct capture *capture, const struct capture_settings *settings, struct fault *fault)
{
	struct pilotlight_capture_request request = {
		.operation = PILOTLIGHT_CAPTURE_OPEN,
		.map_budget_bytes = bounded(settings->map_budget_bytes),
		.unwind_budget_bytes = bounded(settings->unwind_budget_bytes),
		.rate_hz = settings->rate_hz,
		.stack_slots = settings->stack_slots,
		.wants_kernel = settings->wants_kernel,
		.filters_processes = settings->filters_processes,
		.event = (uint8_t)settings->event,
		.is_sparing = settings->is_sparing,
		.wants_wakers = settings->wants_wakers,
		.skips_interpreted = settings->skips_interpreted,
		.sources = settings->sources ? settings->sources : 1U << PILOTLIGHT_SOURCE_CPU,
		.surveyed = settings->surveyed,
	};
	struct pilotlight_capture_answer answer = { .result = 0 };
	int r;

	for (size_t i = PILOTLIGHT_SOURCE_CPU + 1; i < PILOTLIGHT_SOURCES; i++)
		if (request.sources & 1U << i)
			request.periods[i] = settings->periods[i];
	memcpy(request.counted, settings->counted, sizeof(request.counted));
	r = capture_link_ask(capture->link, &request, &answer, capture->fds, &capture->fd_count);
	if (r < 0 && answer.fault[0])
		return fault_set(fault, r, "%s", answer.fault);
	if (r < 0)
		return fault_of_link(capture, r, fault);
	capture->layout = answer.layout;
	capture->state = answer.state;
	memcpy(capture->left_behind, answer.left_behind, sizeof(capture->left_behind));
	memcpy(capture->missing, answer.missing, sizeof(capture->missing));
	for (size_t i = 0; i < PILOTLIGHT_SOURCES; i++)
		capture->missing[i][PILOTLIGHT_MISSING_BYTES - 1] = '\0';
	r = check_layout(capture);
	return r < 0 ? fault_of_link(capture, r, fault) : 0;
}

static int map_variables(struct capture *capture, struct fault *fault)
{
	const struct pilotlight_capture_layout *layout = &capture->layout;
	void *variables = mmap(NULL, layout->variables_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		capture->fds[PILOTLIGHT_CAPTURE_FD_VARIABLES], 0);

	if (variables == MAP_FAILED)
		return fault_set(
			fault, -errno, "cannot map the sampler's variables: %s", strerror(errno));
	capture->variables = variables;
	capture->maps.active_window =
		(volatile uint32_t *)((char *)variables + layout->active_window_offset);
	return 0;
}

static void set_maps(struct capture *capture)
{
	const struct pilotlight_capture_layout *layout = &capture->layout;
	struct capture_maps *maps = &capture->maps;
	const int *fds = capture->fds;

	for (int i = 0; i < 2; i++)
		maps->sets[i] = (struct capture_map_set){
			.stacks_fd = fds[PILOTLIGHT_CAPTURE_FD_STACKS_0 + i],
			.build_id_stacks_fd = fds[PILOTLIGHT_CAPTURE_FD_BUILD_ID_STACKS_0 + i],
			.counts_fd = fds[PILOTLIGHT_CAPTURE_FD_COUNTS_0 + i],
		};
	maps->known_stacks_fd = fds[PILOTLIGHT_CAPTURE_FD_KNOWN_STACKS];
	maps->counters_fd = fds[PILOTLIGHT_CAPTURE_FD_COUNTERS];
	maps->ring_fd = fds[PILOTLIGHT_CAPTURE_FD_RING];
	maps->live_fd = fds[PILOTLIGHT_CAPTURE_FD_LIVE];
	maps->cache_names_fd = fds[PILOTLIGHT_CAPTURE_FD_CACHE_NAMES];
	maps->block_disks_fd = fds[PILOTLIGHT_CAPTURE_FD_BLOCK_DISKS];
	maps->barrier_fd = fds[PILOTLIGHT_CAPTURE_FD_BARRIER];
	maps->barrier_inner_fd = fds[PILOTLIGHT_CAPTURE_FD_BARRIER_INNER];
	maps->sizes = (struct map_sizes){
		.stack_slots = layout->stack_slots,
		.build_id_stack_slots = layout->build_id_stack_slots,
		.count_slots = layout->count_slots,
		.known_stack_slots = layout->known_stack_slots,
		.stack_depth = layout->stack_depth,
		.ring_bytes = layout->ring_bytes,
		.live_slots = layout->live_slots,
		.drain_period_ms = layout->drain_period_ms,
		.cpu_count = layout->sized_cpus,
		.total_bytes = layout->total_bytes,
	};
}

static int map_walk_arrays(struct capture *capture, struct fault *fault)
{
	const int *fds = capture->fds;
	const struct walk_map_fds walk_fds = {
		.files = fds[PILOTLIGHT_CAPTURE_FD_WALK_FILES],
		.requests = fds[PILOTLIGHT_CAPTURE_FD_WALK_REQUESTS],
		.wakeup = fds[PILOTLIGHT_CAPTURE_FD_WALK_REQUEST_WAKEUP],
		.pages = fds[PILOTLIGHT_CAPTURE_FD_UNWIND_PAGES],
		.lines = fds[PILOTLIGHT_CAPTURE_FD_UNWIND_LINES],
		.rules = fds[PILOTLIGHT_CAPTURE_FD_UNWIND_RULES],
		.escapes = fds[PILOTLIGHT_CAPTURE_FD_UNWIND_ESCAPES],
	};
	const struct walk_map_sizes sizes = {
		.pages = capture->layout.unwind_pages,
		.lines = capture->layout.unwind_lines,
		.rules = capture->layout.unwind_rules,
		.escapes = capture->layout.unwind_escapes,
	};
	int r;

	if (!capture->layout.has_walks)
		return 0;
	r = walk_maps_init(&capture->walk_maps, &walk_fds, &sizes);
	return r < 0 ? fault_set(fault, r, "cannot map the unwind tables: %s", strerror(-r)) : 0;
}

/* Waits until all running BPF programs have ended. */
static int wait_for_programs(const struct capture *capture)
{
	const struct capture_maps *maps = &capture->maps;
	uint32_t zero = 0;

	return bpf_map_update_elem(maps->barrier_fd, &zero, &maps->barrier_inner_fd, BPF_ANY)
		       ? -errno
		       : 0;
}

/* Windows to skip: an even number, to stay in the same set, and more than the sampler remembers. */
enum { WINDOWS_AHEAD = 4 };
_Static_assert(WINDOWS_AHEAD % PILOTLIGHT_SET_COUNT == 0 &&
		       WINDOWS_AHEAD > (int)PILOTLIGHT_WALK_REMEMBERED_WINDOWS,
	"nothing that is remembered is of the window that begins");

/*
 * Removes the files that an earlier engine added: they point to unwind tables that are gone. Each
 * CPU's sampler remembers files until the end of a window, and rules for longer, so another window
 * begins.
 */
static int remove_old_files(const struct capture *capture, struct fault *fault)
{
	volatile uint32_t *window = capture->maps.active_window;
	int r;

	if (!capture->layout.is_taken_over || !capture->layout.has_walks)
		return 0;
	r = walk_maps_clear(&capture->walk_maps);
	if (r == 0) {
		__atomic_store_n(window, *window + WINDOWS_AHEAD, __ATOMIC_RELEASE);
		r = wait_for_programs(capture);
	}
	return r < 0 ? fault_set(fault, r, "cannot take over the unwind tables: %s", strerror(-r))
		     : 0;
}

/* Using a map shows whether this process may use maps at all. */
static int try_maps(const struct capture *capture, struct fault *fault)
{
	int r = wait_for_programs(capture);

	if (r == -EPERM)
		return fault_set(fault, r,
			"cannot use the BPF maps without privileges (%s): before 5.19 the kernel "
			"forbids it while the sysctl kernel.unprivileged_bpf_disabled is set; "
			"run a later kernel, or set the sysctl to 0",
			strerror(-r));
	return r < 0 ? fault_set(fault, r, "cannot use the BPF maps: %s", strerror(-r)) : 0;
}

/* Returns 1; 0 if there is no ring of that index; or -errno. */
static int fetch_ring(struct capture *capture, uint64_t index)
{
	struct pilotlight_capture_request request = {
		.operation = PILOTLIGHT_CAPTURE_RING,
		.value = index,
	};
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];
	struct sideband_ring ring;
	size_t count = 0;
	int r = capture_link_ask(capture->link, &request, &answer, fds, &count);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (count != 1) {
		capture_link_close_fds(fds, count);
		return -EBADMSG;
	}
	ring = (struct sideband_ring){
		.id = answer.layout.ring_id,
		.cpu = answer.layout.ring_cpu,
		.fd = fds[0],
	};
	r = sideband_adopt_ring(capture->sideband, &ring);
	if (r < 0)
		capture_link_close_fds(fds, 1);
	return r < 0 ? r : 1;
}

/* Fetches the host's rings if they have changed. */
static int follow_rings(struct capture *capture)
{
	int r = 1;

	if (capture->has_rings && capture->state.rings_generation == capture->rings_generation)
		return 0;
	capture->has_rings = false;
	for (uint64_t i = 0; r > 0 && i <= CPU_LIST_MAX; i++)
		r = fetch_ring(capture, i);
	if (r != 0)
		return r < 0 ? r : -EBADMSG;
	r = sideband_drop_others(capture->sideband);
	if (r < 0)
		return r;
	capture->rings_generation = capture->state.rings_generation;
	capture->has_rings = true;
	return 0;
}

static int open_sideband(struct capture *capture, struct fault *fault)
{
	int r = sideband_open(capture->layout.sideband_ring_bytes, &capture->sideband);

	if (r == 0) {
		sideband_set_reports_cgroups(capture->sideband, capture->layout.reports_cgroups);
		r = follow_rings(capture);
	}
	if (r < 0)
		return fault_set(
			fault, r, "cannot map the rings of the side-band: %s", strerror(-r));
	return 0;
}

/* Opens everything, over an established link. */
static int open_with_link(
	struct capture *capture, const struct capture_settings *settings, struct fault *fault)
{
	int r;

	libbpf_log_set_up();
	r = open_host(capture, settings, fault);
	if (r < 0)
		return r;
	set_maps(capture);
	r = try_maps(capture, fault);
	if (r == 0)
		r = map_variables(capture, fault);
	if (r == 0)
		r = map_walk_arrays(capture, fault);
	if (r == 0)
		r = remove_old_files(capture, fault);
	if (r == 0)
		r = open_sideband(capture, fault);
	return r;
}

int capture_open(
	const struct capture_settings *settings, struct capture **ret_capture, struct fault *fault)
{
	_cleanup_(capture_freep) struct capture *capture = calloc(1, sizeof(*capture));
	int r;

	if (!capture)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = capture_link_new(settings->choice, &capture->link);
	if (r < 0)
		return fault_set(fault, r, "out of memory");
	r = open_with_link(capture, settings, fault);
	if (r == 0)
		*ret_capture = TAKE_PTR(capture);
	return r;
}

int capture_connect(int fd, const struct capture_settings *settings, struct capture **ret_capture,
	struct fault *fault)
{
	_cleanup_(capture_freep) struct capture *capture = calloc(1, sizeof(*capture));
	int r;

	if (!capture)
		return fault_set(fault, -ENOMEM, "out of memory");
	r = capture_link_connect(fd, &capture->link);
	if (r < 0)
		return fault_set(fault, r, "cannot connect to the broker: %s", strerror(-r));
	r = open_with_link(capture, settings, fault);
	if (r < 0)
		capture_link_release(capture->link);
	else
		*ret_capture = TAKE_PTR(capture);
	return r;
}

bool capture_is_taken_over(const struct capture *capture)
{
	return capture->layout.is_taken_over;
}

const struct pilotlight_counters *capture_left_behind(const struct capture *capture)
{
	return capture->left_behind;
}

const char *capture_missing(const struct capture *capture, enum pilotlight_source source)
{
	return capture->missing[source];
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	sideband_free(capture->sideband);
	walk_maps_done(&capture->walk_maps);
	if (capture->variables)
		(void)munmap(capture->variables, capture->layout.variables_bytes);
	capture_link_close_fds(capture->fds, capture->fd_count);
	capture_link_free(capture->link);
	free(capture);
}

int capture_forget(struct capture *capture)
{
	struct pilotlight_capture_answer answer;

	return ask(capture, PILOTLIGHT_CAPTURE_CLOSE, 0, &answer);
}

int capture_follow(struct capture *capture, pid_t pid)
{
	struct pilotlight_capture_answer answer;

	if (pid <= 0)
		return -EINVAL;
	return ask(capture, PILOTLIGHT_CAPTURE_FOLLOW, (uint64_t)pid, &answer);
}

int capture_list_files(struct capture *capture)
{
	struct pilotlight_capture_answer answer;

	return ask(capture, PILOTLIGHT_CAPTURE_LIST_FILES, 0, &answer);
}

int capture_take_blocked(struct capture *capture, uint64_t before_ns)
{
	struct pilotlight_capture_answer answer;

	return ask(capture, PILOTLIGHT_CAPTURE_TAKE_BLOCKED, before_ns, &answer);
}

int capture_survey(struct capture *capture, uint32_t periods)
{
	struct pilotlight_capture_answer answer;

	return ask(capture, PILOTLIGHT_CAPTURE_SURVEY, periods, &answer);
}

/* Sends a request whose answer carries nothing. */
static int order(struct capture *capture, struct pilotlight_capture_request *request)
{
	struct pilotlight_capture_answer answer;
	int fds[PILOTLIGHT_CAPTURE_FDS];
	size_t count = 0;
	int r = capture_link_ask(capture->link, request, &answer, fds, &count);

	capture_link_close_fds(fds, count);
	return r;
}

int capture_set_probe(struct capture *capture, const struct pilotlight_capture_probe *probe)
{
	struct pilotlight_capture_request request = {
		.operation = PILOTLIGHT_CAPTURE_PROBE,
		.probe = *probe,
	};

	return order(capture, &request);
}

int capture_set_runtime(
	struct capture *capture, uint32_t number, const struct pilotlight_runtime *runtime)
{
	struct pilotlight_capture_request request = {
		.operation = PILOTLIGHT_CAPTURE_SET_RUNTIME,
		.value = number,
		.runtime = *runtime,
	};

	return order(capture, &request);
}

int capture_follow_cpus(struct capture *capture)
{
	int count = ask_state(capture, PILOTLIGHT_CAPTURE_FOLLOW_CPUS, 0);
	int r;

	/* CPUs other than the failed one may have come or gone. */
	if (count < 0)
		(void)ask_state(capture, PILOTLIGHT_CAPTURE_STATE, 0);
	r = follow_rings(capture);
	return count < 0 || r == 0 ? count : r;
}

int capture_start(struct capture *capture, struct fault *fault)
{
	struct pilotlight_capture_answer answer = { .result = 0 };
	int r = ask(capture, PILOTLIGHT_CAPTURE_START, 0, &answer);

	if (r < 0 && answer.fault[0])
		return fault_set(fault, r, "%s", answer.fault);
	if (r < 0)
		return fault_of_link(capture, r, fault);
	capture->state = answer.state;
	/*
	 * Sampling has begun, and the host has cleared its left_behind counters. If fetching the
	 * rings fails now, capture_follow_cpus() tries again.
	 */
	(void)follow_rings(capture);
	return 0;
}

int capture_set_rate(struct capture *capture, uint32_t rate_hz)
{
	return ask_state(capture, PILOTLIGHT_CAPTURE_SET_RATE, rate_hz);
}

uint32_t capture_rate_hz(const struct capture *capture)
{
	return capture->state.rate_hz;
}

void capture_stop(struct capture *capture)
{
	(void)ask_state(capture, PILOTLIGHT_CAPTURE_STOP, 0);
}

const char *capture_event_name(const struct capture *capture)
{
	return capture->state.event;
}

uint32_t capture_cpu_count(const struct capture *capture)
{
	return capture->state.cpu_count;
}

const struct capture_maps *capture_maps(const struct capture *capture)
{
	return &capture->maps;
}

const struct walk_maps *capture_walk_maps(const struct capture *capture)
{
	return capture->layout.has_walks ? &capture->walk_maps : NULL;
}

struct sideband *capture_sideband(struct capture *capture)
{
	return capture->sideband;
}

uint64_t capture_expected_samples(struct capture *capture)
{
	(void)ask_state(capture, PILOTLIGHT_CAPTURE_STATE, 0);
	return capture->state.expected_samples;
}

void capture_read_cost(const struct capture *capture, struct capture_cost *ret_cost)
{
	struct pilotlight_capture_answer answer;
	bool is_answered = ask(capture, PILOTLIGHT_CAPTURE_STATE, 0, &answer) == 0;
	const struct pilotlight_capture_state *state =
		is_answered ? &answer.state : &capture->state;
	struct capture_cost cost = {
		.program_runs = state->program_runs,
		.program_ns = state->program_ns,
		.map_bytes = state->map_bytes,
		.sideband_bytes = sideband_bytes(capture->sideband),
		.children_not_followed = state->children_not_followed,
		.skipped_events = state->skipped_events,
		.allocator_calls_lost = state->allocator_calls_lost,
	};

	if (capture->layout.has_walks)
		cost.mapped_bytes = walk_map_sizes_bytes(&capture->walk_maps.sizes);
	if (!capture_link_is_here(capture->link)) {
		cost.broker_cpu_ns = state->broker_cpu_ns;
		cost.broker_resident_bytes = state->broker_resident_bytes;
	}
	*ret_cost = cost;
}
