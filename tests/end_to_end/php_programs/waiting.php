<?php
// SPDX-License-Identifier: GPL-2.0-or-later
// waiting.php FUNCTION FILE: waits in a function of that name. Before, it writes FILE: its functions as PHP tells them,
// innermost first, each on a line.
function tell(string $innermost): void
{
    $lines = array_map(fn($frame) => ($frame['class'] ?? '') . ($frame['type'] ?? '') . $frame['function'] . "\n",
        array_slice(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), 1));
    file_put_contents("{$GLOBALS['argv'][2]}.part", "$innermost\n" . implode('', $lines));
    rename("{$GLOBALS['argv'][2]}.part", $GLOBALS['argv'][2]);
}

function in_sleep(): void
{
    tell('sleep');
    sleep(1000000);
}

function in_map(): void
{
    array_map('wait_once', [1]);
}

function wait_once(int $number): void
{
    tell('usleep');
    usleep(1000000000);
}

function nested(int $depth): void
{
    $depth > 0 ? nested($depth - 1) : in_sleep();
}

function in_nested(): void
{
    nested(20);
}

// More functions than a sample of a process that runs may be the first to meet.
for ($number = 0; $number < 70; $number++)
    eval("function many_$number(): void { many_" . ($number + 1) . '(); }');

function many_70(): void
{
    in_sleep();
}

function in_many(): void
{
    many_0();
}

function wait_for_ever(callable $function): void
{
    $function();
}

wait_for_ever($argv[1]);
