; SPDX-License-Identifier: GPL-2.0-or-later
(defun fibonacci (n)
  (if (< n 2) n (+ (fibonacci (- n 1)) (fibonacci (- n 2)))))

(defun turn (seed)
  (let ((words (make-hash-table :test #'equal)))
    (dotimes (i 300)
      (incf (gethash (format nil "word~d" (mod (* seed i) 101)) words 0)))
    (+ (length (sort (loop for key being the hash-keys of words collect key) #'string<)) (fibonacci 18))))

(loop with seed = 0 do (incf seed (mod (turn seed) 3)))
