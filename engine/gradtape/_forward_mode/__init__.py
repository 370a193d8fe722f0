"""Dual numbers: tangents that tensors carry while a level of forward mode is on."""
