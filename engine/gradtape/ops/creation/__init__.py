"""Ops that make tensors: of a size, of data, of random numbers, over memory."""
