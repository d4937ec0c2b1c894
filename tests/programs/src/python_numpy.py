import time
import numpy as np

def fit(matrix, vector):
    return np.linalg.lstsq(matrix, vector, rcond=None)[0]

def smooth(values):
    return np.convolve(values, np.ones(32) / 32, mode="same")

def rank(rows):
    return sorted(rows, key=lambda row: float(np.sum(row)))

def table():
    return np.array2string(np.arange(200).reshape(20, 10))

def main(end):
    generator = np.random.default_rng(1)
    while time.time() < end:
        matrix = generator.random((200, 40))
        fit(matrix, generator.random(200))
        smooth(generator.random(20000))
        rank(list(matrix))
        table()
        np.einsum("ij,kj->ik", matrix, matrix)

main(float("inf"))
