-- SPDX-License-Identifier: GPL-2.0-or-later
local function fibonacci(n) return n < 2 and n or fibonacci(n - 1) + fibonacci(n - 2) end

local other = coroutine.wrap(function() while true do coroutine.yield(fibonacci(12)) end end)
local seed = 0
while true do
	local words = {}
	for i = 1, 500 do words[i] = "word" .. tostring(seed * i % 101) end
	table.sort(words, function(a, b) return a < b end)
	string.gsub(table.concat(words, " "), "word(%d+)", "<%1>")
	seed = seed + other()
end
