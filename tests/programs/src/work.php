<?php
// SPDX-License-Identifier: GPL-2.0-or-later
function fibonacci($n) { return $n < 2 ? $n : fibonacci($n - 1) + fibonacci($n - 2); }

for ($seed = 0;; $seed++) {
	$words = [];
	for ($i = 0; $i < 500; $i++)
		$words["word" . $seed * $i % 101] = $i;
	uksort($words, fn($a, $b) => strcmp($a, $b));
	preg_replace('/word(\d+)/', '$1', json_encode($words));
	fibonacci(15);
}
