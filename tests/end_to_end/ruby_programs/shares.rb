# Splits its CPU time 6 : 3 : 1 between three functions, whose callees are the same. One of them is called through a
# function of C, one in a fiber, which has a stack of its own. Its chains of calls are known.
def spin
  total = 0
  number = 0
  while number < 300
    total += number
    number += 1
  end
  total
end

def burn(seconds)
  stop = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  spin while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < stop
end

def heavy(unit)
  burn(6 * unit)
end

def light(unit)
  [1].each { |_number| burn(3 * unit) }
end

class Shape
  def tiny(unit)
    Fiber.new { burn(unit) }.resume
  end
end

def main(unit)
  heavy(unit)
  light(unit)
  Shape.new.tiny(unit)
end

# In turns, so that samples that are lost at the start do not change the shares.
turns = 20
while turns > 0
  main(ARGV[0].to_f / 20)
  turns -= 1
end
