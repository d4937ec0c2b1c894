<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// Runs heavy three times as long as light, for as many seconds as the first argument says; with a
// second argument, in a child too.

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

function until(float $end): int
{
	$total = 0;
	while (microtime(true) < $end)
		$total ^= heavy(100000) + light(100000);
	return $total;
}

$end = microtime(true) + (float)$argv[1];
$pid = isset($argv[2]) ? pcntl_fork() : -1;
until($end);
if ($pid > 0)
	pcntl_waitpid($pid, $status);
