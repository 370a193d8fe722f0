"""Jacobians, Hessians and products with them: the parts of functional."""
