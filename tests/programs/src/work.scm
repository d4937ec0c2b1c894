; SPDX-License-Identifier: GPL-2.0-or-later
(define (fibonacci n)
  (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))

(define (words seed i)
  (if (= i 0) '() (cons (number->string (modulo (* seed i) 101)) (words seed (- i 1)))))

(define (turn seed)
  (+ (string-length (apply string-append (words seed 50)))
     (call-with-current-continuation (lambda (leave) (for-each (lambda (x) (if (> x 2) (leave x))) '(1 2 3)) 0))
     (fibonacci 18)))

(let loop ((seed 0))
  (loop (+ seed (modulo (turn seed) 3))))
