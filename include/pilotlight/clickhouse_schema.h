/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a fleet in ClickHouse: the contract between the hosts that fill them
 * (export/clickhouse.h), `pilotlight fleet init`, which makes them, and those that read them.
 *
 * All are in the database `pilotlight`. On a cluster each is a Distributed table over tables
 * NAME_local, sharded by cityHash64(host), so that everything of one host is on one shard. Columns:
 *
 *   samples    one row for each distinct stack of a service in a batch. No row is ever replaced.
 *     ts           DateTime('UTC')  start of the time that the row covers, to the nearest second
 *     duration_ns  UInt64           how much time it covers, without gaps
 *     host         String           host name. The label host.id tells hosts of one name apart
 *     service      String           as `service.name` of OpenTelemetry (export/service_identity.h)
 *     type         String           as `-e` names it: "cpu", "offcpu", "cache-misses"
 *     labels       Array(String)    "name=value" in this order, if known: unit, container, pod,
 *                                   comm, exe (names of selections); then host.id and other
 *                                   attributes of the host. Labels=service leaves out comm and exe
 *     stack        UInt64           stacks.id
 *     value        UInt64           number of periods. value * period is the amount
 *     period       UInt64           in the type's unit: nanoseconds, bytes or count
 *     weight       Float64          1 / the share of hosts that is sampled; 1: all are.
 *                                   The fleet's amount is sum(value * period * weight)
 *     Key: type, service, ts, host, stack.
 *     A batch is one insert, and all its rows have the same ts, host and type, so its rows are all
 *     there or none is. A host has no two batches of one type whose times overlap.
 *     What was lost is a row whose stack is the location "[lost: REASON]"; a sample without a
 *     stack has the location "[unknown]".
 *
 *   stacks     (ReplacingMergeTree by day)
 *     day          Date             of the newest sample that came with the row
 *     host         String           that sent the row
 *     id           UInt64
 *     locations    Array(UInt64)    locations.id, leaf first
 *     Key: id.
 *
 *   locations  (ReplacingMergeTree by day)
 *     day, host                     as above
 *     id           UInt64
 *     build_id     String           what code it is in; see below
 *     vaddr        UInt64           where in that code; see below
 *     kind         String           "kernel", "executable", "library", "jit", "python", "synthetic"
 *     path         String           of the file, "[kernel.kallsyms]", "[vdso]"; may be ""
 *     Key: id.
 *
 *   names      (ReplacingMergeTree by day)
 *     day, host                     as above
 *     build_id     String           of locations
 *     vaddr        UInt64           of locations
 *     rank         UInt8            how good they are (enum pilotlight_name_rank). The greatest
 *                                   that is there counts; of equal ones any
 *     functions    Array(String)    innermost first: each but the last is inlined into the next.
 *                                   "": unknown
 *     files        Array(String)    as many; "": unknown
 *     lines        Array(UInt32)    as many; 0: unknown
 *     Key: build_id, vaddr, rank.
 *     Rows may come later than the samples, from any machine. A location may have none.
 *
 *   schema     a view with one row: version UInt32, PILOTLIGHT_CLICKHOUSE_VERSION.
 *
 * The last three tables hold a row several times until the server merges its parts, and once in
 * each partition and shard after that: readers take any (names: the greatest rank). FINAL is not
 * needed, and slow. Samples are in a partition for each day, the others for each month, and all
 * are deleted by partition, by `ts` or `day`.
 *
 * Identities are equal on all hosts (I2). XXH3 is that of libxxhash with 64 bits and seed 0; texts
 * in it end with a NUL, integers are little-endian.
 *
 *   code    build_id is the identity of the file's symbols as symbol_identity_format() writes it: a
 *           build-id in lower-case hex, "htlhash:HEX" for a file without one, "owned:HEX" for a
 * file that an unprivileged user may have forged. vaddr is the link-time address; in the kernel it
 * counts from the start of the image. other   Code without such an identity, and text that is no
 * code: build_id is the kind. With names, vaddr is XXH3(path, then function, file and u32 line of
 * each frame). Without, it is the address. locations.id  XXH3(build_id, u64 vaddr), and of "other"
 * without names XXH3(build_id, u64 vaddr, path) stacks.id     from the root to the leaf, beginning
 * with 0: id = XXH3(u64 id, u64 location)
 */
#pragma once

#define PILOTLIGHT_CLICKHOUSE_DATABASE "pilotlight"

enum {
	PILOTLIGHT_CLICKHOUSE_VERSION = 1,
};

enum pilotlight_name_rank {
	PILOTLIGHT_NAME_PLACE = 1, /* tells only the place (symbol/place_name.h) */
	PILOTLIGHT_NAME_FUNCTION = 2,
	PILOTLIGHT_NAME_LINE = 3, /* the innermost frame has a file and a line, too */
};

/* For INSERT INTO … (…) FORMAT RowBinary, and in this order. */
#define PILOTLIGHT_CLICKHOUSE_SAMPLES \
	"ts, duration_ns, host, service, type, labels, stack, value, period, weight"
#define PILOTLIGHT_CLICKHOUSE_STACKS	"day, host, id, locations"
#define PILOTLIGHT_CLICKHOUSE_LOCATIONS "day, host, id, build_id, vaddr, kind, path"
#define PILOTLIGHT_CLICKHOUSE_NAMES	"day, host, build_id, vaddr, rank, functions, files, lines"
