"""Who else may answer for an op: __torch_function__ and __torch_dispatch__."""
