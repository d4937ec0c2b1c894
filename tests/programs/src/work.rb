# SPDX-License-Identifier: GPL-2.0-or-later
def fibonacci(n) = n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)

fiber = Fiber.new { loop { Fiber.yield fibonacci(12) } }
seed = 0
loop do
  words = Hash.new(0)
  500.times { |i| words["word#{seed * i % 101}"] += 1 }
  words.keys.sort { |a, b| a <=> b }.join(' ').gsub(/word(\d+)/) { $1 }
  seed += fiber.resume
end
