<?php
// Spends its time in code that PCRE generates.
function search($text)
{
	return preg_match('/(?:[a-f][b-z]|q)*[0-9]/', $text);
}

$text = str_repeat('ab', 200);
for ($turns = (int)$argv[1]; $turns > 0; $turns--) {
	search($text);
}
