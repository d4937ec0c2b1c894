/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a fleet in ClickHouse: the contract between the hosts that fill them
 * (export/clickhouse.h), `pilotlight fleet init`, which makes them, and those that read them.
 *
 * All are in the database `pilotlight`. On a cluster each is a Distributed table over tables
 * NAME_local, sharded by cityHash64(host), so that everything of one host is on one shard.
 *
 * samples: a row for each distinct stack of a service in a batch. No row is ever replaced.
 *
 *   ts           DateTime('UTC')  start of the time that the row covers, to the nearest second
 *   duration_ns  UInt64           how much time it covers, without gaps
 *   host         String           host name. The label host.id tells hosts of one name apart
 *   service      String           as service.name of OpenTelemetry (export/service_identity.h)
 *   type         String           as `-e` names it: "cpu", "offcpu", "cache-misses"
 *   labels       Array(String)    "name=value" in this order, if known: unit, container, pod,
 *                                 comm, exe (names of selections); claimed_service,
 *                                 claimed_namespace, claimed_environment; then host.id and other
 *                                 attributes of the host. Labels=service omits comm and exe, and
 *                                 claims unless nothing else tells the service
 *   stack        UInt64           id of stacks
 *   value        UInt64           number of periods: value * period is the amount
 *   period       UInt64           in the type's unit: nanoseconds, bytes or count
 *   weight       Float64          1 / the share of hosts that is sampled; 1: all are. An amount
 *                                 of the fleet is sum(value * period * weight)
 *
 *   comm         String           of labels; the server fills it, hosts do not insert it. Questions
 *                                 for stacks need no other label, and reading all is slow
 *
 *   Key: type, service, toStartOfHour(ts), stack, host, ts. Hosts that run the same code have the
 *   same stacks, so their rows compress well side by side.
 *
 *   Servers from version 22 on keep sums of hours beside the rows, as projections, and answer
 *   queries of whole hours from them: their only condition on ts is toStartOfHour(ts).
 *
 *   A batch's samples are one insert, and all have the same ts, host and type, so all its rows are
 *   there or none is. A host has no two batches of one type whose times overlap. What was lost is
 *   a row whose stack is the location "[lost: REASON]"; a sample without a stack has the location
 *   "[unknown]".
 *
 * spans: the counts of samples that were taken in a span of a trace. They are in the rows of
 * samples, too, which the ids would multiply; so `samples` alone has all that was sampled.
 *
 *   the columns of samples, and
 *   trace_id     FixedString(16)  as bytes, in the order of its digits; zeros: none
 *   span_id      FixedString(8)   the same
 *
 *   Of a batch there are at most 8 rows for each stack of a thread, on average. Beyond, a stack's
 *   counts are one row without ids. Labels=service omits all.
 *
 *   Key: trace_id, span_id, ts. A host inserts them before the samples of the same batch. If it has
 *   to insert them again, and the server has forgotten the first time, equal rows are there twice:
 *   readers take each of SELECT DISTINCT *, as no two rows of a batch are equal.
 *
 * stacks: ReplacingMergeTree(day), as the next two. Of what its samples of a day refer to, a host
 * inserts each row of that day at least once, before the samples; not again if tables are emptied.
 *
 *   day          Date             of the newest sample that came with the row
 *   host         String           that sent the row
 *   id           UInt64           key
 *   locations    Array(UInt64)    ids of locations, leaf first
 *
 * locations:
 *
 *   day, host                     as above
 *   id           UInt64           key
 *   build_id     String           what code it is in; see below
 *   vaddr        UInt64           where in that code; see below
 *   kind         String           kernel, executable, library, jit, python, javascript, ruby,
 *                                 java, php, perl or synthetic
 *   path         String           of the file, "[kernel.kallsyms]", "[vdso]"; may be ""
 *
 * names: may come later than the samples, from any machine. A location may have none.
 *
 *   day, host                     as above
 *   build_id     String           key, with vaddr and rank; as in locations
 *   vaddr        UInt64           as in locations
 *   rank         UInt8            how good they are (enum pilotlight_name_rank): the greatest
 *                                 counts, and of equal ones any
 *   functions    Array(String)    innermost first: each but the last is inlined into the next;
 *                                 "": unknown
 *   files        Array(String)    as many; "": unknown
 *   lines        Array(UInt32)    as many; 0: unknown
 *
 * schema: a view with one row, version UInt32: PILOTLIGHT_CLICKHOUSE_VERSION.
 *
 * The ReplacingMergeTrees hold a row several times until the server merges its parts, and after
 * that once in each partition and shard: readers take any (names: of the greatest rank), without
 * FINAL, which is slow. Samples and spans are in a partition for each day, the others for each
 * month.
 *
 * Version 2 had no spans.
 *
 * Identities are equal on all hosts (I2). XXH3 is that of libxxhash with 64 bits and seed 0. Texts
 * in it end with a NUL; integers are little-endian.
 *
 * - build_id of code is the identity of the file's symbols, as symbol_identity_format() writes it:
 *   a build-id in lower-case hex, "htlhash:HEX" of a file without one, "owned:HEX" of a file that
 *   an unprivileged user may have forged. vaddr is the link-time address; in the kernel it counts
 *   from the start of the image.
 * - Other code, and text that is no code, has its kind as build_id. With names, vaddr is
 *   XXH3(path, then function, file and u32 line of each frame). Without, it is the address.
 * - The id of a location is XXH3(build_id, u64 vaddr), and of other code without names
 *   XXH3(build_id, u64 vaddr, path).
 * - The id of a stack is made from the root to the leaf, from 0: id = XXH3(u64 id, u64 location).
 */
#pragma once

#define PILOTLIGHT_CLICKHOUSE_DATABASE "pilotlight"

enum {
	PILOTLIGHT_CLICKHOUSE_VERSION = 3,
};

enum pilotlight_name_rank {
	PILOTLIGHT_NAME_PLACE = 1, /* tells only the place (symbol/place_name.h) */
	PILOTLIGHT_NAME_FUNCTION = 2,
	PILOTLIGHT_NAME_LINE = 3, /* the innermost frame has a file and a line, too */
};

/* For INSERT INTO … (…) FORMAT RowBinary, and in this order. */
#define PILOTLIGHT_CLICKHOUSE_SAMPLES \
	"ts, duration_ns, host, service, type, labels, stack, value, period, weight"
#define PILOTLIGHT_CLICKHOUSE_SPANS	PILOTLIGHT_CLICKHOUSE_SAMPLES ", trace_id, span_id"
#define PILOTLIGHT_CLICKHOUSE_STACKS	"day, host, id, locations"
#define PILOTLIGHT_CLICKHOUSE_LOCATIONS "day, host, id, build_id, vaddr, kind, path"
#define PILOTLIGHT_CLICKHOUSE_NAMES	"day, host, build_id, vaddr, rank, functions, files, lines"
