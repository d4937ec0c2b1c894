<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// Runs heavy three times as long as light. The first argument is the CPU time in seconds; the limit is a minute. With a
// second argument a child does the same.

function heavy(int $rounds): int
{
	$sum = 1;
	for ($i = 0; $i < 3 * $rounds; $i++)
		$sum = ($sum * 31 + $i) & 0xffffff;
	return $sum;
}

function light(int $rounds): int
{
	$sum = 1;
	for ($i = 0; $i < $rounds; $i++)
		$sum = ($sum * 31 + $i) & 0xffffff;
	return $sum;
}

function cpu_seconds(): float
{
	$usage = getrusage();
	return $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] +
		($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
}

function run(float $seconds): int
{
	$total = 0;
	$end = cpu_seconds() + $seconds;
	$latest = microtime(true) + 60;
	while (cpu_seconds() < $end && microtime(true) < $latest) {
		// Turns of equal length could be in step with the samples.
		$rounds = mt_rand(50000, 150000);
		$total ^= heavy($rounds) + light($rounds);
	}
	return $total;
}

$pid = isset($argv[2]) ? pcntl_fork() : -1;
run((float)$argv[1]);
if ($pid > 0)
	pcntl_waitpid($pid, $status);
