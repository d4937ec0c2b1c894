! SPDX-License-Identifier: GPL-2.0-or-later
module work
contains
  recursive integer function fibonacci(n) result(f)
    integer, intent(in) :: n
    if (n < 2) then
      f = n
    else
      f = fibonacci(n - 1) + fibonacci(n - 2)
    end if
  end function

  real(8) function multiply(n)
    integer, intent(in) :: n
    real(8) :: a(n, n), b(n, n)
    call random_number(a)
    b = matmul(a, transpose(a))
    multiply = sum(sqrt(b)) + norm2(a)
  end function

  subroutine print_it(x)
    real(8), intent(in) :: x
    character(80) :: text
    write (text, '(f20.10, a, i8)') x, ' is ', int(x)
  end subroutine
end module

program main
  use work
  real(8) :: x
  x = 0
  do
    x = multiply(60) + fibonacci(18)
    call print_it(x)
  end do
end program
