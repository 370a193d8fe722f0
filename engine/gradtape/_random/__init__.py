"""PyTorch's streams of random numbers on the CPU, number for number."""
