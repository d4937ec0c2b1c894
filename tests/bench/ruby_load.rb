# Runs for so many seconds, mostly in some 20 methods and blocks that call each other, every sixth through a function
# of C. The second argument says how many.
def leaf
  number = 0
  number += 1 while number < 2000
  number
end

def deeper(depth)
  return leaf if depth.zero?
  return [1].each { deeper(depth - 1) } if (depth % 6).zero?

  deeper(depth - 1)
end

stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_f
depth = (ARGV[1] || 16).to_i
deeper(depth) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop
