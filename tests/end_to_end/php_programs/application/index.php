<?php
// An application of three files: half of its time runs a class, half the file that has it.
require __DIR__ . '/load.php';

(new Page)->render();
