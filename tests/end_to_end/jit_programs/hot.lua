-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs heavy three times as long as light. The argument is the CPU time in seconds.

local function turn(rounds, sum)
	for i = 1, rounds do
		sum = (sum * 31 + i) % 1000003
	end
	return sum
end

local function heavy(rounds)
	return turn(3 * rounds, 1)
end

local function light(rounds)
	return turn(rounds, 1)
end

local seconds = tonumber(arg[1])
local total = 0

while os.clock() < seconds do
	-- Turns of equal length could be in step with the samples.
	local rounds = math.random(100000, 300000)

	total = total + heavy(rounds) + light(rounds)
end
if total == 0 then
	print(total)
end
