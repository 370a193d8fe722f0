"""autograd.Function: the call, the ctx, and what its functions may return."""
